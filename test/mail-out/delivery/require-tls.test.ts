import { beforeAll, describe, expect, it } from 'vitest'
import { jobOf, testDelivery, testMx, type ReadAttempt, type TestDelivery } from '../../support/delivery-fixture.ts'
import type { FakeMx, FakeMxOptions } from '../../support/fake-mx.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { testCertificate, type TestCertificate } from '../../support/test-certificates.ts'

let certificates: Record<'good' | 'self-signed' | 'expired' | 'wrong name', TestCertificate>
beforeAll(async () => {
  const name = ['relay.example.com']
  const [good, selfSigned, expired, wrongName] = await Promise.all([
    testCertificate(name),
    testCertificate(name),
    testCertificate(name, { expired: true }),
    testCertificate(['other.test']),
  ])
  certificates = { good, 'self-signed': selfSigned, expired, 'wrong name': wrongName }
})

const extensions = ['PIPELINING', 'REQUIRETLS', 'DELIVERBY 60', 'MT-PRIORITY']
const required = () => jobOf({ transfer: { requireTls: true } })

/** Delivery through a smarthost, which its operator vouches for. */
function bySmarthost({ host, port }: FakeMx, limits = {}): TestDelivery {
  const trusted = (['good', 'expired', 'wrong name'] as const).map((name) => certificates[name].cert)
  const resolver = fakeResolver({ 'relay.example.com': { a: [host] } })
  const delivery = testDelivery([], { extraAuthorities: trusted, resolver, limits })
  delivery.services.route.smarthost = { host: 'relay.example.com', port }
  return delivery
}

const reasonOf = ({ outcome }: ReadAttempt): string => (outcome.type === 'delivered' ? '' : outcome.reason)

describe('with REQUIRETLS, a host', () => {
  it.each<[string, () => FakeMxOptions, RegExp]>([
    ['without STARTTLS', () => ({ extensions }), /^5\.7\.10 .*REQUIRETLS.*does not offer STARTTLS/],
    [
      'that refuses STARTTLS for good',
      () => ({ tls: certificates.good, on: { starttls: () => '502 5.5.1 no' } }),
      /^5\.7\.10 .*refused it: 502/,
    ],
    ['with a self-signed certificate', () => ({ tls: certificates['self-signed'], extensions }), /^5\.7\.30 .*not valid for the host/],
    ['with an expired certificate', () => ({ tls: certificates.expired, extensions }), /^5\.7\.30 .*not valid for the host/],
    ['with a certificate for another name', () => ({ tls: certificates['wrong name'], extensions }), /^5\.7\.30 .*not valid for the host/],
    ['that does not offer it', () => ({ tls: certificates.good }), /^5\.7\.30 .*does not offer REQUIRETLS/],
  ])('%s gets nothing, and the mail is returned', async (_, options, reason) => {
    const mx = await testMx(options())
    const attempt = await bySmarthost(mx).attempt(required())
    expect(attempt).toMatchObject({ outcome: { type: 'bounced', hard: false, category: 'policy' }, policy: 'verify', source: 'message' })
    expect(reasonOf(attempt)).toMatch(reason)
    expect(mx.messages).toEqual([])
  })

  it.each<[string, () => FakeMxOptions]>([
    ['whose handshake fails', () => ({ tls: 'garbage' })],
    ['that refuses STARTTLS for now', () => ({ tls: certificates.good, on: { starttls: () => '454 4.7.0 later' } })],
  ])('%s is tried again', async (_, options) => {
    const mx = await testMx(options())
    const delivery = bySmarthost(mx)
    for (let i = 0; i < 2; i++)
      expect(await delivery.attempt(required())).toMatchObject({ outcome: { type: 'deferred', category: 'policy' } })
    expect(mx.messages).toEqual([])
  })

  it('that offers it over verified TLS is told', async () => {
    const mx = await testMx({ tls: certificates.good, extensions })
    const transfer = { requireTls: true, priority: 2, deliverBy: { at: Date.now() + 3_600_000, mode: 'N' as const } }
    const attempt = await bySmarthost(mx).attempt(jobOf({ transfer }))
    expect(attempt).toMatchObject({ outcome: { type: 'delivered' }, transport: 'verified', policy: 'verify', source: 'message' })
    expect(mx.messages[0]?.mailParams).toMatch(/ ?REQUIRETLS BY=3(600|599);N MT-PRIORITY=2$/)
  })

  it('that nobody vouches for is not even connected to', async () => {
    const mx = await testMx({ tls: certificates.good, extensions })
    const attempt = await testDelivery([mx], { extraAuthorities: [certificates.good.cert] }).attempt(required())
    expect(reasonOf(attempt)).toMatch(/^5\.7\.30 .*neither MTA-STS nor DNSSEC/)
    expect(mx.sessions).toEqual([])
  })
})

it('its connections carry no other mail, nor it on others, and it resumes no TLS session', async () => {
  const mx = await testMx({ tls: certificates.good, extensions })
  const delivery = bySmarthost(mx)
  for (const job of [jobOf(), required(), jobOf({ recipientTls: 'verify' }), required(), jobOf()])
    expect(await delivery.attempt(job)).toMatchObject({ outcome: { type: 'delivered' } })
  expect(
    mx.sessions.map(({ commands }) => commands.filter((line) => line.startsWith('MAIL')).map((line) => line.includes('REQUIRETLS'))),
  ).toEqual([[false, false], [true, true], [false]])
  const each = bySmarthost(mx, { messagesPerConnection: 1 })
  for (let i = 0; i < 3; i++) await each.attempt(required())
  expect(mx.sessions.map(({ isResumed }) => isResumed)).not.toContain(true)
})
