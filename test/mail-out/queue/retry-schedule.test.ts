import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isOver, retryAt } from '../../../src/mail-out/queue/retry-schedule.ts'

const minute = 60_000
const schedule = [1, 5, 15, 30, 60, 120, 240, 360].map((minutes) => minutes * minute)

test.each([
  [1, 1],
  [2, 5],
  [3, 15],
  [8, 360],
  [9, 360],
  [40, 360],
])('after attempt %i the next one is due %i minutes later', (attempts, minutes) => {
  expect(retryAt(attempts, { schedule, expiresAt: Infinity, now: 0, random: 0 })).toBe(minutes * minute)
})

test('never early, at most a tenth late, and never past the moment of giving up', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 1, max: 172_800_000 }),
      (attempts, random, expiresAt) => {
        const at = retryAt(attempts, { schedule, expiresAt, now: 0, random }) ?? NaN
        const delay = schedule[Math.min(attempts, 8) - 1] ?? 0
        expect(at).toBeLessThanOrEqual(expiresAt)
        expect(at === expiresAt || (at >= delay && at <= delay * 1.1 + 1)).toBe(true)
      },
    ),
  )
})

test('there is no next attempt once the time is over', () => {
  expect(retryAt(1, { schedule, expiresAt: 1_000, now: 999, random: 0 })).toBe(1_000)
  expect(retryAt(1, { schedule, expiresAt: 1_000, now: 1_000, random: 0 })).toBeNull()
})

test.each([
  ['in time', { dueAt: 100, expiresAt: 1_000 }, 999, false, false],
  ['due in time and looked at too late', { dueAt: 999, expiresAt: 1_000 }, 5_000, false, true],
  ['due at the very end, as after a last deferral', { dueAt: 1_000, expiresAt: 1_000 }, 1_000, true, true],
])('%s', (_, recipient, now, isNormallyOver, isOverWhereNeverLate) => {
  expect([isOver(recipient, false, now), isOver(recipient, true, now)]).toEqual([isNormallyOver, isOverWhereNeverLate])
})
