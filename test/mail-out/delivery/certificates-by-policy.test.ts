import { beforeAll, describe, expect, it } from 'vitest'
import { tlsPolicies, type TlsPolicy } from '../../../src/platform/config/recipient-tls.ts'
import { jobOf, testDelivery, testMx } from '../../support/delivery-fixture.ts'
import type { FakeMxOptions } from '../../support/fake-mx.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { testCertificate, type TestCertificate } from '../../support/test-certificates.ts'

let certificates: Record<'good' | 'self-signed' | 'expired' | 'wrong name', TestCertificate>
beforeAll(async () => {
  const name = ['mx1.example.com']
  const [good, selfSigned, expired, wrongName] = await Promise.all([
    testCertificate(name),
    testCertificate(name),
    testCertificate(name, { expired: true }),
    testCertificate(['other.test']),
  ])
  certificates = { good, 'self-signed': selfSigned, expired, 'wrong name': wrongName }
})

const trusted = () => ['good', 'expired', 'wrong name'].map((name) => certificates[name as keyof typeof certificates].cert)
const how = { plain: 'plain', encrypted: 'encrypted', verified: 'verified', waits: null } as const

/** How the mail leaves under each policy, in their order. */
const table: [string, () => FakeMxOptions, (keyof typeof how)[]][] = [
  ['a good certificate', () => ({ tls: certificates.good }), ['verified', 'verified', 'verified', 'waits']],
  ['a self-signed certificate', () => ({ tls: certificates['self-signed'] }), ['encrypted', 'encrypted', 'waits', 'waits']],
  ['an expired certificate', () => ({ tls: certificates.expired }), ['encrypted', 'encrypted', 'waits']],
  ['a certificate for another name', () => ({ tls: certificates['wrong name'] }), ['encrypted', 'encrypted', 'waits']],
  ['no STARTTLS', () => ({}), ['plain', 'waits', 'waits']],
  [
    'STARTTLS that it refuses',
    () => ({ tls: certificates.good, on: { starttls: () => '454 4.7.0 not now' } }),
    ['plain', 'waits', 'waits'],
  ],
  ['a handshake that fails', () => ({ tls: 'garbage' }), ['plain', 'waits', 'waits']],
]

describe.each(table)('a host with %s', (_, options, expected) => {
  it.each(tlsPolicies.map((policy, place) => [policy, expected[place] ?? 'waits'] as const))('under %s: %s', async (policy, outcome) => {
    const mx = await testMx(options())
    const attempt = await testDelivery([mx], { extraAuthorities: trusted() }).attempt(jobOf({ recipientTls: policy }))
    expect(attempt).toMatchObject({
      outcome:
        outcome === 'waits'
          ? { type: 'deferred', category: 'policy', reason: expect.stringContaining(`by the policy ${policy}`) as string }
          : { type: 'delivered' },
      transport: how[outcome],
      policy,
    })
    expect(mx.messages).toHaveLength(outcome === 'waits' ? 0 : 1)
  })
})

it('neither a connection nor a TLS session serves mail under another policy', async () => {
  const mx = await testMx({ tls: certificates.good })
  const delivery = testDelivery([mx], { extraAuthorities: trusted() })
  const send = (recipientTls: TlsPolicy) => delivery.attempt(jobOf({ recipientTls }))
  for (const policy of tlsPolicies) await send(policy)
  expect(mx.sessions.map(({ isResumed }) => isResumed)).toEqual([false, false, false])
  for (const policy of tlsPolicies) expect(await send(policy)).toMatchObject({ policy, outcome: { type: 'delivered' } })
  expect(mx.sessions).toHaveLength(3)
})

it.each(tlsPolicies)('an attempt that finds no host says what was required: %s', async (policy) => {
  const resolver = fakeResolver({ 'example.com': { mx: [[0, 'mx1.example.com']] } })
  const attempt = await testDelivery([], { resolver }).attempt(jobOf({ recipientTls: policy }))
  expect(attempt).toMatchObject({ mxHost: null, transport: null, tls: null, policy })
})
