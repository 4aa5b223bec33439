import { beforeAll, describe, expect, it, test } from 'vitest'
import type { StsPolicy } from '../../../src/mail-out/mta-sts/sts-policy.ts'
import { jobOf, testDelivery, testMx } from '../../support/delivery-fixture.ts'
import type { FakeMx, FakeMxOptions } from '../../support/fake-mx.ts'
import { fakeResolver, type FakeNames, type FakeNameTable } from '../../support/fake-resolver.ts'
import { testCertificate, tlsaOf, type TestCertificate } from '../../support/test-certificates.ts'

let made: Record<'trusted' | 'selfSigned' | 'authority' | 'issued' | 'expired' | 'wrongName', TestCertificate>
beforeAll(async () => {
  const authority = await testCertificate(['Authority'])
  made = {
    authority,
    trusted: await testCertificate(['mx1.example.com']),
    selfSigned: await testCertificate(['mx1.example.com']),
    issued: await testCertificate(['mx1.example.com'], { issuer: authority }),
    expired: await testCertificate(['mx1.example.com'], { issuer: authority, expired: true }),
    wrongName: await testCertificate(['other.test'], { issuer: authority }),
  }
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
  return { names, resolver, ...testDelivery(hosts, { resolver, extraAuthorities: [made.trusted.cert], ...(published && { published }) }) }
}

const refused = { on: { starttls: () => '454 4.7.0 not now' } }
const own = (of: keyof typeof made) => () => records(tlsaOf(made[of], [3, 1, 1]))
const anchor = (of: keyof typeof made) => () => records(tlsaOf(made[of], [2, 0, 1]))
const unusable = () => records(tlsaOf(made.trusted, [1, 1, 1]))

/** As RFC 8460 calls what keeps mail from a host. */
const results: Record<string, string> = {
  'no TLSA record matches': 'validation-failure',
  'handshake failed': 'validation-failure',
  'does not offer STARTTLS': 'starttls-not-supported',
  'refused it': 'starttls-not-supported',
  CERT_HAS_EXPIRED: 'certificate-expired',
  ALTNAME_INVALID: 'certificate-host-mismatch',
  'dnssec-invalid': 'dnssec-invalid',
}

type Row = [what: string, options: () => FakeMxOptions, tlsa: () => FakeNames | 'servfail', outcome: string]
const table: Row[] = [
  ['3 1 1 of its own', () => ({ tls: made.trusted }), own('trusted'), 'verified'],
  ['3 1 1 of its own, self-signed', () => ({ tls: made.selfSigned }), own('selfSigned'), 'verified'],
  ['3 1 1 of its own, expired', () => ({ tls: made.expired }), own('expired'), 'verified'],
  ['3 1 1 of its own, for another name', () => ({ tls: made.wrongName }), own('wrongName'), 'verified'],
  ['3 1 1 of another certificate, although trusted', () => ({ tls: made.trusted }), own('selfSigned'), 'no TLSA record matches'],
  ['3 1 1, without STARTTLS', () => ({}), own('trusted'), 'does not offer STARTTLS'],
  ['3 1 1, with STARTTLS that it refuses', () => ({ tls: made.trusted, ...refused }), own('trusted'), 'refused it'],
  ['3 1 1, with a handshake that fails', () => ({ tls: 'garbage' }), own('trusted'), 'handshake failed'],
  ['2 0 1 of its authority', () => ({ tls: made.issued }), anchor('authority'), 'verified'],
  ['2 0 1 of its authority, expired', () => ({ tls: made.expired }), anchor('authority'), 'CERT_HAS_EXPIRED'],
  ['2 0 1 of its authority, for another name', () => ({ tls: made.wrongName }), anchor('authority'), 'ALTNAME_INVALID'],
  ['2 0 1 of another authority', () => ({ tls: made.issued }), anchor('trusted'), 'no TLSA record matches'],
  ['records that cannot be used, trusted', () => ({ tls: made.trusted }), unusable, 'verified'],
  ['records that cannot be used, self-signed', () => ({ tls: made.selfSigned }), unusable, 'encrypted'],
  ['records that cannot be used, without STARTTLS', () => ({}), unusable, 'does not offer STARTTLS'],
  ['records that are not valid', () => ({ tls: made.trusted }), () => 'servfail', 'dnssec-invalid'],
  ['no records, without STARTTLS', () => ({}), () => ({ secure: true }), 'plain'],
]

describe.each(table)('a host with %s', (_, options, tlsa, outcome) => {
  it(`is sent mail, or not: ${outcome}`, async () => {
    const mx = await testMx(options())
    const delivery = signedDelivery([mx], [tlsa()])
    const attempt = await delivery.attempt()
    const isSent = ['plain', 'encrypted', 'verified'].includes(outcome)
    expect(mx.messages).toHaveLength(isSent ? 1 : 0)
    expect(attempt.transport).toBe(isSent ? outcome : null)
    const waits = { type: 'deferred', category: 'policy', reply: null, reason: expect.stringContaining(outcome) as string }
    expect(attempt.outcome).toMatchObject(isSent ? { type: 'delivered' } : waits)
    expect(delivery.tlsSessions.map(({ failure }) => failure?.type)).toEqual([
      outcome === 'plain' ? 'starttls-not-supported' : results[outcome],
    ])
    if (!isSent && tlsa !== unusable) expect(attempt.outcome).toMatchObject({ reason: expect.stringMatching(`\\(${results[outcome]}\\)$`) })
    const policy = outcome === 'plain' ? 'opportunistic' : tlsa === unusable ? 'require' : 'dane'
    expect(attempt).toMatchObject({ policy, source: outcome === 'plain' ? null : 'dane' })
  })

  it('under the policy dane, only what DANE proves', async () => {
    const mx = await testMx(options())
    const attempt = await signedDelivery([mx], [tlsa()]).attempt(jobOf({ recipientTls: 'dane' }))
    const isProved = outcome === 'verified' && tlsa !== unusable
    expect(mx.messages).toHaveLength(isProved ? 1 : 0)
    expect(attempt).toMatchObject({ policy: 'dane', source: 'operator', transport: isProved ? 'verified' : null })
    if (!isProved) expect(attempt.outcome).toMatchObject({ type: 'deferred', category: 'policy' })
  })
})

test.each([
  ['no records', undefined, 'dane-required'],
  ['records that cannot be used', records({ usage: 0, selector: 0, matchingType: 1, data: Buffer.alloc(32) }), 'tlsa-invalid'],
])('under the policy dane, a host with %s is not connected to', async (_, tlsa, result) => {
  const mx = await testMx({ tls: made.trusted })
  const attempt = await signedDelivery([mx], [tlsa]).attempt(jobOf({ recipientTls: 'dane' }))
  expect(attempt.outcome).toMatchObject({ reason: expect.stringContaining(`for the recipient's domain, but the host has no`) })
  expect(attempt.outcome).toMatchObject({ reason: expect.stringContaining(result) })
  expect(mx.sessions).toEqual([])
})

test('reports on TLS name the records that a session was judged by', async () => {
  const mx = await testMx({ tls: made.selfSigned })
  const record = tlsaOf(made.selfSigned, [3, 1, 1])
  const { attempt, tlsSessions } = signedDelivery([mx], [records(record)])
  await attempt()
  const policy = { type: 'tlsa', strings: [`3 1 1 ${record.data.toString('hex')}`], domain: 'mx1.example.com', mxHosts: [] }
  expect(tlsSessions).toMatchObject([{ destination: 'example.com', policy, mxHost: 'mx1.example.com', failure: null }])
})

test('the next host takes what DANE keeps from the first', async () => {
  const first = await testMx({ tls: made.trusted })
  const second = await testMx({ host: '127.0.0.2', port: first.port, tls: made.selfSigned })
  const { attempt } = signedDelivery(
    [first, second],
    [records(tlsaOf(made.issued, [3, 1, 1])), records(tlsaOf(made.selfSigned, [3, 0, 1]))],
  )
  expect(await attempt()).toMatchObject({ mxHost: 'mx2.example.com', transport: 'verified', policy: 'dane' })
  expect(first.messages).toEqual([])
})

test('a host that the MTA-STS policy of the domain does not list gets mail by its TLSA records, and none without', async () => {
  const mx = await testMx({ tls: made.selfSigned })
  const announced = { '_mta-sts.example.com': { txt: ['v=STSv1; id=1;'] } }
  const sts: StsPolicy = { mode: 'enforce', mx: ['mx.elsewhere.test'], maxAgeMs: 86_400_000 }
  const proved = signedDelivery([mx], [own('selfSigned')()], announced, () => sts)
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
  const mx = await testMx({ tls: made.selfSigned })
  const { attempt, resolver } = signedDelivery([mx], [records(tlsaOf(made.selfSigned, [3, 1, 1]))])
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
  const mx = await testMx({ tls: made.selfSigned, extensions })
  const { attempt, names } = signedDelivery([mx], [records(tlsaOf(made.selfSigned, [3, 1, 1]))])
  const required = { transfer: { requireTls: true } }
  expect(await attempt(jobOf(required))).toMatchObject({ transport: 'verified', policy: 'dane', source: 'message' })
  names['example.com'] = { mx: [[0, 'mx1.example.com']], secure: false }
  expect((await attempt(jobOf(required))).outcome).toMatchObject({ type: 'bounced', reason: expect.stringContaining('vouches for') })
  names['example.com'] = { mx: [[0, 'mx1.example.com']], secure: true }
  names[`_${mx.port}._tcp.mx1.example.com`] = records(tlsaOf(made.trusted, [3, 1, 1]))
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
  const mx = await testMx({ tls: made.selfSigned })
  const { attempt, names } = signedDelivery([mx], [records(tlsaOf(made.selfSigned, [3, 1, 1]))])
  const at = `_${mx.port}._tcp.mx1.example.com`
  expect(await attempt()).toMatchObject({ tls: { resumed: false, verified: true } })
  await attempt()
  expect(mx.sessions).toHaveLength(1)
  names[at] = records(tlsaOf(made.selfSigned, [3, 0, 2]))
  expect(await attempt()).toMatchObject({ tls: { resumed: false, verified: true } })
  names[at] = records(tlsaOf(made.trusted, [3, 1, 1]))
  expect((await attempt()).outcome).toMatchObject({ type: 'deferred', category: 'policy' })
  expect(mx.messages).toHaveLength(3)
})

test('TLS that had failed before does not mean plain text once the host has TLSA records', async () => {
  const mx = await testMx({ tls: 'garbage' })
  const { attempt, names } = signedDelivery([mx], [undefined])
  expect(await attempt()).toMatchObject({ transport: 'plain' })
  names[`_${mx.port}._tcp.mx1.example.com`] = records(tlsaOf(made.trusted, [3, 1, 1]))
  expect(await attempt()).toMatchObject({ outcome: { type: 'deferred', category: 'policy' }, policy: 'dane', transport: null })
})

test('the host is asked for the name that has the records', async () => {
  const mx = await testMx({ tls: made.selfSigned })
  const alias = { a: [mx.host], secure: true, expandedName: 'real.example.com' }
  const tlsa = records(tlsaOf(made.selfSigned, [3, 1, 1]))
  const { attempt } = signedDelivery([mx], [], { 'mx1.example.com': alias, [`_${mx.port}._tcp.real.example.com`]: tlsa })
  expect(await attempt()).toMatchObject({ mxHost: 'mx1.example.com', transport: 'verified', policy: 'dane' })
  expect(mx.sessions.map(({ askedFor }) => askedFor)).toEqual(['real.example.com'])
})
