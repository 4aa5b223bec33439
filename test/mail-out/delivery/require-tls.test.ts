import { beforeAll, describe, expect, it } from 'vitest'
import { jobOf, testDelivery, testMx, type ReadAttempt, type TestDelivery } from '../../support/delivery-fixture.ts'
import type { FakeMx } from '../../support/fake-mx.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { shownOptions } from '../../support/shown-options.ts'
import { expectOutcome, leaves, shownCertificates, tables, type ShownCertificates } from '../../support/tls-outcomes.ts'

let certificates: ShownCertificates
beforeAll(async () => {
  certificates = await shownCertificates(() => 'relay.example.com')
})

const extensions = ['PIPELINING', 'REQUIRETLS', 'DELIVERBY 60', 'MT-PRIORITY']
const required = () => jobOf({ transfer: { requireTls: true } })

/** Delivery through a smarthost, which its operator vouches for. */
function bySmarthost({ host, port }: FakeMx, limits = {}): TestDelivery {
  const resolver = fakeResolver({ 'relay.example.com': { a: [host] } })
  const delivery = testDelivery([], { extraAuthorities: [certificates.authority.cert], resolver, limits })
  delivery.services.route.smarthost = { host: 'relay.example.com', port }
  return delivery
}

const reasonOf = ({ outcome }: ReadAttempt): string => (outcome.type === 'delivered' ? '' : outcome.reason)

/** What the reason says of a host that gets nothing. */
const reasons: Record<string, RegExp> = {
  'a valid certificate': /does not offer REQUIRETLS/,
  'a self-signed one': /not valid for the host/,
  'an expired one': /not valid for the host/,
  'one for another name': /not valid for the host/,
  'no STARTTLS': /REQUIRETLS.*does not offer STARTTLS/,
  'STARTTLS that it refuses for good': /refused it: 502/,
}

describe('with REQUIRETLS, a host', () => {
  it.each(tables.requireTls.map((row) => [row['the host shows'], row['it offers REQUIRETLS'], row['the message']] as const))(
    'that shows %s, and offers it: %s; the message: %s',
    async (shown, offers, cell) => {
      const mx = await testMx({ ...shownOptions(shown, certificates), ...(offers === 'yes' && { extensions }) })
      const delivery = bySmarthost(mx)
      // What waits does not bounce the next time.
      for (let attempts = cell === 'waits' ? 2 : 1; attempts > 0; attempts--) {
        const attempt = await delivery.attempt(required())
        expectOutcome(attempt, cell)
        expect(attempt).toMatchObject({ policy: 'verify', source: 'message' })
        if (cell.startsWith('bounces')) expect(reasonOf(attempt)).toMatch(reasons[shown] ?? 'a reason')
      }
      expect(mx.messages).toHaveLength(leaves(cell) ? 1 : 0)
    },
  )

  it('that offers it over verified TLS is told', async () => {
    const mx = await testMx({ tls: certificates['a valid certificate'], extensions })
    const transfer = { requireTls: true, priority: 2, deliverBy: { at: Date.now() + 3_600_000, mode: 'N' as const } }
    const attempt = await bySmarthost(mx).attempt(jobOf({ transfer }))
    expect(attempt).toMatchObject({ outcome: { type: 'delivered' }, transport: 'verified', policy: 'verify', source: 'message' })
    expect(mx.messages[0]?.mailParams).toMatch(/ ?REQUIRETLS BY=3(600|599);N MT-PRIORITY=2$/)
  })

  it('that nobody vouches for is not even connected to', async () => {
    const mx = await testMx({ tls: certificates['a valid certificate'], extensions })
    const attempt = await testDelivery([mx], { extraAuthorities: [certificates['a valid certificate'].cert] }).attempt(required())
    expect(reasonOf(attempt)).toMatch(/^5\.7\.30 .*neither MTA-STS nor DNSSEC/)
    expect(mx.sessions).toEqual([])
  })
})

it('its connections carry no other mail, nor it on others, and it resumes no TLS session', async () => {
  const mx = await testMx({ tls: certificates['a valid certificate'], extensions })
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
