import { beforeAll, describe, expect, it } from 'vitest'
import { tlsPolicies, type TlsPolicy } from '../../../src/platform/config/recipient-tls.ts'
import { jobOf, testDelivery, testMx } from '../../support/delivery-fixture.ts'
import type { FakeMx } from '../../support/fake-mx.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { shownOptions } from '../../support/shown-options.ts'
import {
  deliveryTo,
  expectOutcome,
  jobUnder,
  leaves,
  policies,
  shownByHosts,
  shownCertificates,
  shownPolicy,
  tables,
  type Policy,
  type ShownCertificates,
} from '../../support/tls-outcomes.ts'

let certificates: ShownCertificates
beforeAll(async () => {
  certificates = await shownCertificates(() => 'mx1.example.com')
})

const trusted = () => [certificates.authority.cert]
const deliveryUnder = (policy: Policy, { host, port }: FakeMx, listed?: string) =>
  deliveryTo({ name: 'mx1.example.com', host, port }, policy, { trusted: trusted(), ...(listed && { listed }) })

describe('the tables of docs/standards.md', () => {
  const allowed: Record<Policy, string[]> = {
    opportunistic: ['plain', 'encrypted', 'verified'],
    require: ['encrypted', 'verified', 'waits'],
    verify: ['verified', 'waits'],
    dane: ['waits'],
    'sts testing': ['plain', 'encrypted', 'verified'],
    'sts enforce': ['verified', 'waits'],
  }

  it('name all that a host can show', () => {
    expect(tables.policies.map((row) => row['the host shows'])).toEqual(shownByHosts)
  })

  it.each(policies)('send nothing below the policy %s', (policy) => {
    for (const row of tables.policies) expect(allowed[policy]).toContain(row[policy])
  })

  it('send nothing that TLSA records do not allow, and with REQUIRETLS only what is verified', () => {
    for (const row of tables.dane) {
      const called = row['TLSA records of the host']
      expect(['verified', 'waits']).toContain(row['dane set'])
      expect(called === 'none' ? allowed.opportunistic : called.startsWith('usage') ? allowed.verify : allowed.require).toContain(
        row['nothing set'],
      )
    }
    for (const row of tables.requireTls) if (leaves(row['the message'])) expect(row['the message']).toBe('verified')
  })
})

describe.each(tables.policies.map((row) => [row['the host shows'], row] as const))('a host that shows %s', (shown, row) => {
  it.each(policies.map((policy) => [policy, row[policy]] as const))('under %s: %s', async (policy, cell) => {
    const mx = await testMx(shownOptions(shown, certificates))
    const attempt = await deliveryUnder(policy, mx).attempt(jobUnder(policy))
    const { mode, sts } = shownPolicy(policy)
    expectOutcome(attempt, cell)
    expect(attempt.policy).toBe(mode)
    expect(attempt.sts?.mode).toBe(sts)
    if (cell === 'waits') expect(attempt.outcome).toMatchObject({ reason: expect.stringContaining(`by the policy ${mode}`) as string })
    // What a policy in testing reports is what it would refuse if it were enforced.
    if (sts === 'testing') expect(attempt.sts?.objection === null).toBe(row['sts enforce'] !== 'waits')
    expect(mx.messages).toHaveLength(leaves(cell) ? 1 : 0)
  })
})

it('neither a connection nor a TLS session serves mail under another policy', async () => {
  const mx = await testMx({ tls: certificates['a valid certificate'] })
  const delivery = testDelivery([mx], { extraAuthorities: trusted() })
  const send = (recipientTls: TlsPolicy) => delivery.attempt(jobOf({ recipientTls }))
  for (const policy of ['opportunistic', 'require', 'verify'] as const) await send(policy)
  expect(mx.sessions.map(({ isResumed }) => isResumed)).toEqual([false, false, false])
  for (const policy of ['opportunistic', 'require', 'verify'] as const)
    expect(await send(policy)).toMatchObject({ policy, outcome: { type: 'delivered' } })
  expect(mx.sessions).toHaveLength(3)
})

it.each(tlsPolicies)('an attempt that finds no host says what was required: %s', async (policy) => {
  const resolver = fakeResolver({ 'example.com': { mx: [[0, 'mx1.example.com']] } })
  const attempt = await testDelivery([], { resolver }).attempt(jobOf({ recipientTls: policy }))
  expect(attempt).toMatchObject({ mxHost: null, transport: null, tls: null, policy })
})

describe('a host that the policy of the domain does not list', () => {
  it('gets the mail while the policy is tested, and the attempt says what it has against the host', async () => {
    const mx = await testMx({ tls: certificates['a valid certificate'] })
    const attempt = await deliveryUnder('sts testing', mx, 'mail.example.com').attempt()
    expect(attempt).toMatchObject({ outcome: { type: 'delivered' }, transport: 'verified' })
    expect(attempt.sts?.objection).toBe(
      'the MTA-STS policy of example.com does not list the host mx1.example.com: it lists mail.example.com',
    )
  })

  it('is not even connected to where the policy is enforced, and the next one gets the mail', async () => {
    const [first, second] = [
      await testMx({ tls: certificates['a valid certificate'] }),
      await testMx({ host: '127.0.0.2', tls: certificates['a valid certificate'] }),
    ]
    const zone = {
      'example.com': {
        mx: [
          [0, 'mx.evil.test'],
          [1, 'mx1.example.com'],
        ] as [number, string][],
      },
      'mx.evil.test': { a: [first.host] },
      'mx1.example.com': { a: [second.host] },
      '_mta-sts.example.com': { txt: ['v=STSv1; id=1'] },
    }
    const policy = { mode: 'enforce' as const, mx: ['mx1.example.com'], maxAgeMs: 86_400_000 }
    const resolver = fakeResolver(zone)
    const delivery = testDelivery([second], { extraAuthorities: trusted(), resolver, published: () => policy })
    expect(await delivery.attempt()).toMatchObject({
      outcome: { type: 'delivered' },
      mxHost: 'mx1.example.com',
      policy: 'verify',
      source: 'mta_sts',
    })
    expect([first.sessions.length, second.messages.length]).toEqual([0, 1])
  })
})

describe('a policy that lists none of the hosts', () => {
  it('holds the mail back, in words that tell its owner what to correct', async () => {
    const mx = await testMx({ tls: certificates['a valid certificate'] })
    const zone = {
      'contoso.com': { mx: [[0, 'contoso-com.h-v1.mx.microsoft']] as [number, string][] },
      'contoso-com.h-v1.mx.microsoft': { a: [mx.host] },
      '_mta-sts.contoso.com': { txt: ['v=STSv1; id=1'] },
    }
    const policy = { mode: 'enforce' as const, mx: ['*.mx.microsoft'], maxAgeMs: 86_400_000 }
    const delivery = testDelivery([mx], { resolver: fakeResolver(zone), published: () => policy })
    const attempt = await delivery.attempt(jobOf({ destination: 'contoso.com', to: ['ann@contoso.com'] }))
    expect(attempt).toMatchObject({
      outcome: {
        type: 'deferred',
        category: 'policy',
        reason:
          '4.7.5 the MTA-STS policy of contoso.com does not list the host contoso-com.h-v1.mx.microsoft: ' +
          '*.mx.microsoft stands for names with one label in place of the *',
      },
      mxHost: 'contoso-com.h-v1.mx.microsoft',
      policy: 'verify',
      source: 'mta_sts',
      transport: null,
    })
    expect(mx.sessions).toEqual([])
  })

  it('is looked at once more, and the mail goes where the new one lists the host', async () => {
    const mx = await testMx({ tls: certificates['a valid certificate'] })
    let listed = ['old.example.com']
    let at = Date.now()
    const resolver = fakeResolver({
      'example.com': { mx: [[0, 'mx1.example.com']] },
      'mx1.example.com': { a: [mx.host] },
      '_mta-sts.example.com': { txt: ['v=STSv1; id=1'] },
    })
    const published = () => ({ mode: 'enforce' as const, mx: listed, maxAgeMs: 86_400_000 })
    const delivery = testDelivery([mx], { extraAuthorities: trusted(), resolver, published, now: () => at })
    expect(await delivery.attempt(jobOf({ at }))).toMatchObject({ outcome: { type: 'deferred' } })
    listed = ['mx1.example.com']
    // Not more often than every five minutes.
    expect(await delivery.attempt(jobOf({ at: (at += 299_000) }))).toMatchObject({ outcome: { type: 'deferred' } })
    expect(await delivery.attempt(jobOf({ at: (at += 1_000) }))).toMatchObject({ outcome: { type: 'delivered' }, source: 'mta_sts' })
  })
})

it('mail to a smarthost goes by the policy of its own domain (RFC 8461 3.4)', async () => {
  const mx = await testMx({ tls: certificates['a self-signed one'] })
  const resolver = fakeResolver({ 'relay.example': { a: [mx.host] }, '_mta-sts.relay.example': { txt: ['v=STSv1; id=1'] } })
  const published = () => ({ mode: 'enforce' as const, mx: ['relay.example'], maxAgeMs: 86_400_000 })
  const delivery = testDelivery([mx], { resolver, published })
  delivery.services.route.smarthost = { host: 'Relay.example', port: mx.port }
  expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'deferred', category: 'policy' }, policy: 'verify', source: 'mta_sts' })
  expect(resolver.asked.filter((asked) => asked.includes('_mta-sts'))).toEqual(['txt _mta-sts.relay.example'])
})

it('a domain that publishes nothing costs one look-up a minute, however many messages there are', async () => {
  const mx = await testMx()
  const resolver = fakeResolver({ 'example.com': { mx: [[0, 'mx1.example.com']] }, 'mx1.example.com': { a: [mx.host] } })
  const delivery = testDelivery([mx], { resolver, published: () => null })
  const at = Date.now()
  for (const after of [0, 1_000, 59_999]) await delivery.attempt(jobOf({ at: at + after }))
  expect(resolver.asked.filter((asked) => asked.startsWith('txt'))).toEqual(['txt _mta-sts.example.com'])
  await delivery.attempt(jobOf({ at: at + 60_000 }))
  expect(resolver.asked.filter((asked) => asked.startsWith('txt'))).toHaveLength(2)
  expect(mx.messages).toHaveLength(4)
})

describe('a report on TLS says', () => {
  it('what an enforced policy has against the host of mail with TLS-Required: No, which is sent', async () => {
    for (const [listed, type] of [
      ['*.example.com', 'certificate-expired'],
      ['mail.example.com', 'validation-failure'],
    ] as const) {
      const mx = await testMx({ tls: certificates['an expired one'] })
      const delivery = deliveryUnder('sts enforce', mx, listed)
      expect(await delivery.attempt(jobOf({ transfer: { requireTls: false } }))).toMatchObject({ outcome: { type: 'delivered' } })
      expect(delivery.tlsSessions).toMatchObject([{ policy: { type: 'sts', mxHosts: [listed] }, failure: { type } }])
    }
  })

  it('that a policy could not be fetched, as long as one is announced', async () => {
    const mx = await testMx({ tls: certificates['a valid certificate'] })
    const resolver = fakeResolver({
      'example.com': { mx: [[0, 'mx1.example.com']] },
      'mx1.example.com': { a: [mx.host] },
      '_mta-sts.example.com': { txt: ['v=STSv1; id=1'] },
    })
    let at = Date.now()
    const delivery = testDelivery([mx], { resolver, published: () => null, now: () => at, limits: { messagesPerConnection: 1 } })
    const reported = async (afterMs: number) => {
      expect(await delivery.attempt(jobOf({ at: (at += afterMs) }))).toMatchObject({ policy: 'opportunistic', transport: 'encrypted' })
      const { policy, failure } = delivery.tlsSessions.at(-1) ?? {}
      return [policy?.type, failure?.type]
    }
    const unfetched = ['sts', 'sts-policy-fetch-error']
    for (const afterMs of [0, 299_000, 86_400_000]) expect(await reported(afterMs)).toEqual(unfetched)
    resolver.txt = () => Promise.resolve({ status: 'nxdomain', records: [], ttl: 60, secure: false })
    expect(await reported(86_400_000)).toEqual(['no-policy-found', undefined])
  })
})
