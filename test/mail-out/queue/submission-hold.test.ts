import { expect, test } from 'vitest'
import { averageWith, holdMs } from '../../../src/mail-out/queue/submission-hold.ts'

/** A destination that takes 640 recipients a second. */
const healthy = { inHandMs: 100, inFlight: 64, idleMs: 1, overdueMs: 0 }

test.each([
  ['a destination that takes mail quickly', {}, 0, 250],
  ['one with as many in line as it takes in that time', {}, 159, 250],
  ['one with more in line', {}, 160, 0],
  ['a slow one, for the first in line', { inHandMs: 10_000 }, 0, 250],
  ['a slow one, for the second', { inHandMs: 10_000 }, 1, 0],
  ['a slow one with little in hand', { inHandMs: 300, inFlight: 1 }, 0, 0],
  ['one of which nothing is in hand yet', { inFlight: 0 }, 0, 250],
  ['one that deferred its last mail', { inHandMs: Infinity }, 0, 0],
  ['one where nothing moves', { idleMs: 251 }, 0, 0],
  ['one whose queue is short', { overdueMs: 1_000 }, 0, 250],
  ['one whose queue is long', { overdueMs: 1_001 }, 0, 0],
  ['one whose clock was set back', { idleMs: -3_600_000 }, 0, 250],
])('a submitter for %s', (_, pace, ahead, ms) => {
  expect(holdMs({ ...healthy, ...pace }, ahead)).toBe(ms)
})

test('the average follows what comes, and begins anew after a deferral', () => {
  expect(averageWith(Infinity, 80)).toBe(80)
  expect(averageWith(80, 160)).toBe(90)
  expect(averageWith(90, Infinity)).toBe(Infinity)
})
