import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { unconnectedAttempt, type Outcome } from '../../../src/mail-out/delivery/attempt.ts'
import { confirmAbsence } from '../../../src/mail-out/queue/confirm-absence.ts'

const minute = 60_000
const now = Date.UTC(2026, 10, 21, 6)
const gone: Outcome = {
  type: 'bounced',
  reply: null,
  hard: true,
  category: 'domain_not_found',
  reason: '5.1.2 the domain a.test does not exist',
  isAbsence: true,
}
const attempt = unconnectedAttempt('rcp_1', gone)
const inTwoDays = now + 2880 * minute

interface Case {
  since?: number | null
  isResolverSuspect?: boolean
  expiresAt?: number
  random?: number
}

const judge = ({ since = null, isResolverSuspect = false, expiresAt = inTwoDays, random = 0 }: Case) =>
  confirmAbsence(attempt, { nxdomainSince: since === null ? null : now + since * minute, expiresAt }, { now, isResolverSuspect, random })

describe('what the DNS alone says', () => {
  test.each<[string, Case, number | 'bounced', number]>([
    ['is asked again after a quarter of an hour', {}, 15, 0],
    ['which is stretched by a tenth at most', { random: 1 }, 16.5, 0],
    ['is not believed sooner by who asks sooner', { since: -5 }, 10, -5],
    ['is believed then', { since: -15 }, 'bounced', -15],
    ['and any time later', { since: -600 }, 'bounced', -600],
    ['is not believed while the name servers are suspect', { since: -15, isResolverSuspect: true }, 15, -15],
    ['nor is it at first', { isResolverSuspect: true }, 15, 0],
    ['waits no longer than the mail may', { expiresAt: now + 5 * minute }, 5, 0],
    ['has been said since now at the earliest, where the clock was set back', { since: 4000 }, 15, 0],
  ])('%s', (_, given, expected, since) => {
    const { attempt: judged, nxdomainSince, askAgainAt } = judge(given)
    expect(nxdomainSince).toBe(now + since * minute)
    if (expected === 'bounced') {
      expect(judged).toBe(attempt)
      expect(askAgainAt).toBeNull()
    } else {
      expect(judged).toMatchObject({ recipientId: 'rcp_1', outcome: { type: 'deferred', category: 'domain_not_found', reply: null } })
      expect(askAgainAt).toBe(now + expected * minute)
    }
  })

  test.each<[Case, string]>([
    [
      {},
      '4.1.2 the domain a.test does not exist, say the name servers; they are asked again at 2026-11-21T06:15:00.000Z, before it bounces',
    ],
    [
      { isResolverSuspect: true },
      '4.1.2 the domain a.test does not exist, say the name servers, though they say so of many domains now; they are asked again at 2026-11-21T06:15:00.000Z, before it bounces',
    ],
    [
      { expiresAt: now + minute },
      '4.1.2 the domain a.test does not exist, say the name servers; its time ends before they are asked again',
    ],
  ])('is told in words: %j', (given, reason) => {
    expect(judge(given).attempt.outcome).toMatchObject({ reason })
  })

  test('is never asked again in less than a quarter of an hour, and never bounces before', () => {
    fc.assert(
      fc.property(
        fc.option(fc.integer({ min: -60, max: 60 })),
        fc.boolean(),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (since, isResolverSuspect, random) => {
          const { askAgainAt, nxdomainSince } = judge({ since, isResolverSuspect, random })
          const first = since === null ? now : Math.min(now, now + since * minute)
          expect(nxdomainSince).toBe(first)
          expect((askAgainAt ?? now) - first).toBeGreaterThanOrEqual(15 * minute)
        },
      ),
    )
  })
})

test('anything else is left as it is, and begins the time anew', () => {
  for (const outcome of [
    { type: 'delivered', reply: { code: 250, enhancedStatus: null, text: 'Ok' } },
    { type: 'deferred', reply: null, category: 'timeout', reason: '4.4.3 no name server could tell' },
    { ...gone, isAbsence: false },
  ] satisfies Outcome[]) {
    const made = { ...attempt, outcome }
    const judged = confirmAbsence(made, { nxdomainSince: now - minute, expiresAt: inTwoDays }, { now, isResolverSuspect: true, random: 0 })
    expect(judged).toEqual({ attempt: made, nxdomainSince: null, askAgainAt: null })
  }
})
