import fc from 'fast-check'
import { expect, test } from 'vitest'
import { latencyBounds, percentile } from '../../../src/readers/analytics/latency.ts'

const bucketOf = (ms: number): number => latencyBounds.filter((bound) => bound <= ms).length

test('a percentile is off by less than the width of its bucket', () => {
  const shares = fc.constantFrom(0.5, 0.9, 0.95, 0.99)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 100, max: 400_000_000 }), { minLength: 1 }), shares, (times, share) => {
      const counts = Array.from({ length: latencyBounds.length + 1 }, () => 0)
      for (const ms of times) counts[bucketOf(ms)]!++
      const exact = times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1]!
      const told = percentile(counts, share)!
      expect(told / exact).toBeGreaterThan(1 / 1.29)
      expect(told / exact).toBeLessThan(1.29)
    }),
  )
})

test('without deliveries there is none', () => {
  expect(percentile([0, 0], 0.5)).toBeNull()
})
