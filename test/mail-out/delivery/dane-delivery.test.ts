import { beforeAll, expect, test } from 'vitest'
import type { StsPolicy } from '../../../src/mail-out/mta-sts/sts-policy.ts'
import { jobOf, testDelivery, testMx } from '../../support/delivery-fixture.ts'
import type { FakeMx } from '../../support/fake-mx.ts'
import { fakeResolver, type FakeNames, type FakeNameTable } from '../../support/fake-resolver.ts'
import { shownOptions } from '../../support/shown-options.ts'
import { tlsaOf } from '../../support/test-certificates.ts'
import {
  certificateShown,
  deliveryTo,
  expectOutcome,
  jobUnder,
  leaves,
  shownCertificates,
  tables,
  tlsaRecords,
  type ShownCertificates,
} from '../../support/tls-outcomes.ts'

let made: ShownCertificates
beforeAll(async () => {
  made = await shownCertificates(() => 'mx1.example.com')
})

const records = (...tlsa: FakeNames['tlsa'] & {}): FakeNames => ({ tlsa, secure: true })

/** Delivery to hosts in signed zones, with what their TLSA names have. */
function signedDelivery(
  hosts: FakeMx[],
  ofHosts: (FakeNames | 'servfail' | undefined)[],
  changed: FakeNameTable = {},
  published?: () => StsPolicy | null,
) {
  const names: FakeNameTable = {
    'example.com': { mx: hosts.map((_, i) => [i, `mx${i + 1}.example.com`]), secure: true },
    ...Object.fromEntries(hosts.map(({ host }, i) => [`mx${i + 1}.example.com`, { a: [host], secure: true }])),
    ...Object.fromEntries(ofHosts.map((entry, i) => [`_${hosts[i]?.port}._tcp.mx${i + 1}.example.com`, entry ?? { secure: true }])),
    ...changed,
  }
  const resolver = fakeResolver(names)
  return { names, resolver, ...testDelivery(hosts, { resolver, extraAuthorities: [made.authority.cert], ...(published && { published }) }) }
}

const own = (of: keyof ShownCertificates) => () => records(tlsaOf(made[of], [3, 1, 1]))

const rows = tables.dane.flatMap((row) => [
  { ...row, policy: null, cell: row['nothing set'], failure: row.failure || undefined },
  { ...row, policy: 'dane' as const, cell: row['dane set'], failure: row['failure with dane'] || undefined },
])
const named = rows.map((row) => [row['TLSA records of the host'], row['the host shows'], row.policy ?? 'nothing', row.cell, row] as const)

test.each(named)('a host with TLSA records: %s, that shows %s; set: %s; mail: %s', async (called, shown, _, cell, { policy, failure }) => {
  const mx = await testMx(shownOptions(shown, made))
  const tlsa = tlsaRecords(called, certificateShown(shown, made), made.authority)
  // An authority that a record names need be trusted by nobody else.
  const trusted = called.startsWith('usage 2') ? [] : [made.authority.cert]
  const at = { name: 'mx1.example.com', host: mx.host, port: mx.port }
  const delivery = deliveryTo(at, policy, { trusted, tlsa })
  const attempt = await delivery.attempt(jobUnder(policy))
  expectOutcome(attempt, cell)
  expect(mx.messages).toHaveLength(leaves(cell) ? 1 : 0)
  expect(delivery.tlsSessions.map((session) => session.failure?.type)).toEqual([failure])
  // Where the policy is not that of TLSA records, the reason is of another kind.
  const shownPolicy = policy ?? (called === 'none that can be used' ? 'require' : called === 'none' ? 'opportunistic' : 'dane')
  expect(attempt.policy).toBe(shownPolicy)
  expect(attempt.source).toBe(policy ? 'operator' : shownPolicy === 'opportunistic' ? null : 'dane')
  if (cell === 'waits' && shownPolicy === 'dane')
    expect(attempt.outcome).toMatchObject({ reason: expect.stringMatching(`\\(${failure}\\)$`) })
})

test.each([
  ['no records', undefined, 'dane-required'],
  ['records that cannot be used', records({ usage: 0, selector: 0, matchingType: 1, data: Buffer.alloc(32) }), 'tlsa-invalid'],
])('under the policy dane, a host with %s is not connected to', async (_, tlsa, result) => {
  const mx = await testMx({ tls: made['a valid certificate'] })
  const attempt = await signedDelivery([mx], [tlsa]).attempt(jobOf({ recipientTls: 'dane' }))
  expect(attempt.outcome).toMatchObject({ reason: expect.stringContaining(`for the recipient's domain, but the host has no`) })
  expect(attempt.outcome).toMatchObject({ reason: expect.stringContaining(result) })
  expect(mx.sessions).toEqual([])
})

test('reports on TLS name the records that a session was judged by', async () => {
  const mx = await testMx({ tls: made['a self-signed one'] })
  const record = tlsaOf(made['a self-signed one'], [3, 1, 1])
  const { attempt, tlsSessions } = signedDelivery([mx], [records(record)])
  await attempt()
  const policy = { type: 'tlsa', strings: [`3 1 1 ${record.data.toString('hex')}`], domain: 'mx1.example.com', mxHosts: [] }
  expect(tlsSessions).toMatchObject([{ destination: 'example.com', policy, mxHost: 'mx1.example.com', failure: null }])
})

test.each([null, 'dane'] as const)(
  'reports on TLS name the records that cannot be used, with %s set for the domain',
  async (recipientTls) => {
    const shown = made['a valid certificate']
    const mx = await testMx({ tls: shown })
    const record = tlsaOf(shown, [1, 1, 1])
    const { attempt, tlsSessions } = signedDelivery([mx], [records(record)])
    await attempt(jobOf({ recipientTls }))
    const policy = { type: 'tlsa', strings: [`1 1 1 ${record.data.toString('hex')}`], domain: 'mx1.example.com', mxHosts: [] }
    const failure = { type: 'tlsa-invalid', reason: 'the host has no TLSA records that can be used' }
    expect(tlsSessions).toMatchObject([{ destination: 'example.com', policy, mxHost: 'mx1.example.com', failure }])
  },
)

test('the next host takes what DANE keeps from the first', async () => {
  const first = await testMx({ tls: made['a valid certificate'] })
  const second = await testMx({ host: '127.0.0.2', port: first.port, tls: made['a self-signed one'] })
  const { attempt } = signedDelivery(
    [first, second],
    [records(tlsaOf(made['an expired one'], [3, 1, 1])), records(tlsaOf(made['a self-signed one'], [3, 0, 1]))],
  )
  expect(await attempt()).toMatchObject({ mxHost: 'mx2.example.com', transport: 'verified', policy: 'dane' })
  expect(first.messages).toEqual([])
})

test('a host that the MTA-STS policy of the domain does not list gets mail by its TLSA records, and none without', async () => {
  const mx = await testMx({ tls: made['a self-signed one'] })
  const announced = { '_mta-sts.example.com': { txt: ['v=STSv1; id=1;'] } }
  const sts: StsPolicy = { mode: 'enforce', mx: ['mx.elsewhere.test'], maxAgeMs: 86_400_000 }
  const proved = signedDelivery([mx], [own('a self-signed one')()], announced, () => sts)
  expect(await proved.attempt()).toMatchObject({ transport: 'verified', policy: 'dane', source: 'dane' })
  expect(proved.tlsSessions).toMatchObject([{ policy: { type: 'tlsa' }, failure: null }])
  const passedOn = await proved.attempt(jobOf({ transfer: { requireTls: true } }))
  expect(passedOn.outcome).toMatchObject({ type: 'bounced', reason: expect.stringContaining('REQUIRETLS') as string })
  const unproved = signedDelivery([mx], [undefined], announced, () => sts)
  const twice = jobOf({ to: ['ann@example.com', 'bob@example.com'] })
  const refusal = { outcome: { type: 'deferred', reason: expect.stringContaining('does not list the host mx1.example.com') as string } }
  expect(await unproved.deliver(twice)).toMatchObject([refusal, refusal])
  expect(unproved.tlsSessions).toMatchObject([{ policy: { type: 'sts' }, failure: { type: 'validation-failure' } }])
  expect(mx.messages).toHaveLength(1)
})

test('what is set for the domain holds instead of TLSA records; what is set for the sender is fulfilled by them', async () => {
  const mx = await testMx({ tls: made['a self-signed one'] })
  const { attempt, resolver } = signedDelivery([mx], [records(tlsaOf(made['a self-signed one'], [3, 1, 1]))])
  const policyOf = async (demands: Parameters<typeof jobOf>[0]) => {
    const { policy, source, outcome } = await attempt(jobOf(demands))
    return `${policy} ${source} ${outcome.type}`
  }
  expect(await policyOf({ recipientTls: 'opportunistic' })).toBe('opportunistic null delivered')
  expect(await policyOf({ recipientTls: 'verify' })).toBe('verify operator deferred')
  expect(resolver.asked.filter((asked) => asked.startsWith('tlsa'))).toEqual([])
  expect(await policyOf({ senderTls: 'enforced' })).toBe('dane dane delivered')
})

test('a message with REQUIRETLS goes to a host that DNSSEC vouches for; one with TLS-Required: No goes whatever the records', async () => {
  const extensions = ['PIPELINING', '8BITMIME', 'REQUIRETLS']
  const mx = await testMx({ tls: made['a self-signed one'], extensions })
  const { attempt, names } = signedDelivery([mx], [records(tlsaOf(made['a self-signed one'], [3, 1, 1]))])
  const required = { transfer: { requireTls: true } }
  expect(await attempt(jobOf(required))).toMatchObject({ transport: 'verified', policy: 'dane', source: 'message' })
  names['example.com'] = { mx: [[0, 'mx1.example.com']], secure: false }
  expect((await attempt(jobOf(required))).outcome).toMatchObject({ type: 'bounced', reason: expect.stringContaining('vouches for') })
  names['example.com'] = { mx: [[0, 'mx1.example.com']], secure: true }
  names[`_${mx.port}._tcp.mx1.example.com`] = records(tlsaOf(made['a valid certificate'], [3, 1, 1]))
  expect((await attempt(jobOf(required))).outcome).toMatchObject({
    type: 'bounced',
    reason: expect.stringContaining('no TLSA record matches'),
  })
  const at = `_${mx.port}._tcp.mx1.example.com`
  const { [at]: ofOther } = names
  names[at] = { secure: true }
  const both = await attempt(jobOf({ ...required, recipientTls: 'dane' }))
  expect(both.outcome).toMatchObject({ type: 'deferred', reason: expect.stringContaining('dane-required') as string })
  names[at] = ofOther ?? {}
  expect(await attempt(jobOf({ transfer: { requireTls: false } }))).toMatchObject({ transport: 'encrypted', policy: 'opportunistic' })
})

test('a session is resumed under the same records only, and a connection is used under them only', async () => {
  const mx = await testMx({ tls: made['a self-signed one'] })
  const { attempt, names } = signedDelivery([mx], [records(tlsaOf(made['a self-signed one'], [3, 1, 1]))])
  const at = `_${mx.port}._tcp.mx1.example.com`
  expect(await attempt()).toMatchObject({ tls: { resumed: false, verified: true } })
  await attempt()
  expect(mx.sessions).toHaveLength(1)
  names[at] = records(tlsaOf(made['a self-signed one'], [3, 0, 2]))
  expect(await attempt()).toMatchObject({ tls: { resumed: false, verified: true } })
  names[at] = records(tlsaOf(made['a valid certificate'], [3, 1, 1]))
  expect((await attempt()).outcome).toMatchObject({ type: 'deferred', category: 'policy' })
  expect(mx.messages).toHaveLength(3)
})

test('TLS that had failed before does not mean plain text once the host has TLSA records', async () => {
  const mx = await testMx({ tls: 'garbage' })
  const { attempt, names } = signedDelivery([mx], [undefined])
  expect(await attempt()).toMatchObject({ transport: 'plain' })
  names[`_${mx.port}._tcp.mx1.example.com`] = records(tlsaOf(made['a valid certificate'], [3, 1, 1]))
  expect(await attempt()).toMatchObject({ outcome: { type: 'deferred', category: 'policy' }, policy: 'dane', transport: null })
})

test('the host is asked for the name that has the records', async () => {
  const mx = await testMx({ tls: made['a self-signed one'] })
  const alias = { a: [mx.host], secure: true, expandedName: 'real.example.com' }
  const tlsa = records(tlsaOf(made['a self-signed one'], [3, 1, 1]))
  const { attempt } = signedDelivery([mx], [], { 'mx1.example.com': alias, [`_${mx.port}._tcp.real.example.com`]: tlsa })
  expect(await attempt()).toMatchObject({ mxHost: 'mx1.example.com', transport: 'verified', policy: 'dane' })
  expect(mx.sessions.map(({ askedFor }) => askedFor)).toEqual(['real.example.com'])
})
