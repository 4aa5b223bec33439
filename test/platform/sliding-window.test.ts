import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SlidingWindow } from '../../src/platform/sliding-window.ts'
import { cases } from '../support/cases.ts'

const windowMs = 60_000

/** Requests with the pauses between them, ms, and the limit that counts at each. Fractions are such that sums are exact. */
const requests = fc.array(
  fc.record({
    pause: fc.oneof(
      fc.constant(0),
      fc.integer({ max: 50, min: 0 }),
      fc.integer({ min: 0, max: 2 * windowMs }),
      fc.integer({ min: 0, max: 64_000 }).map((part) => part / 64),
    ),
    limit: fc.oneof({ weight: 9, arbitrary: fc.constant(5) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 40 }) }),
  }),
  { maxLength: 300 },
)

test('takes no more than the limit in any minute, and refuses nothing below it', () => {
  fc.assert(
    fc.property(requests, (sequence) => {
      const window = new SlidingWindow(windowMs)
      const taken: number[] = []
      let now = 1_000
      for (const { pause, limit } of sequence) {
        now += pause
        const inLastMinute = taken.filter((at) => at + windowMs > now).length
        const isTaken = window.take(now, limit)
        expect(isTaken).toBe(inLastMinute < limit)
        if (isTaken) taken.push(now)
        expect(window.countAt(now)).toBe(inLastMinute + (isTaken ? 1 : 0))
        expect([...window.times()]).toEqual(taken.filter((at) => at + windowMs > now))
      }
    }),
    { numRuns: cases(500) },
  )
})

test('takes several together, or none of them', () => {
  const window = new SlidingWindow(windowMs)
  expect(window.take(0, 60, 20)).toBe(true)
  expect(window.take(1, 60, 41)).toBe(false)
  expect(window.take(2, 60, 40)).toBe(true)
  expect(window.take(3, 60)).toBe(false)
  expect(window.take(windowMs, 60, 20)).toBe(true)
  expect([...window.times()]).toEqual([...Array<number>(40).fill(2), ...Array<number>(20).fill(windowMs)])
})

test('knows exactly when one more may be taken', () => {
  fc.assert(
    fc.property(requests, (sequence) => {
      const window = new SlidingWindow(windowMs)
      let now = 1_000
      for (const { pause, limit } of sequence) {
        now += pause
        if (window.take(now, limit)) continue
        const until = window.untilNext(now, limit)
        expect(until).toBeGreaterThan(0)
        expect(window.countAt(now + until - 0.5)).toBeGreaterThanOrEqual(limit)
        now += until
        expect(window.take(now, limit)).toBe(true)
      }
    }),
  )
})
