import { expect, test } from 'vitest'
import { minuteMs, RateLimiter } from '../../src/platform/rate-limiter.ts'
import { settableClock } from '../support/settable-clock.ts'

const perMinute = (limit: number) => ({ limit, windowMs: minuteMs })

test('allows no more than the limit in any 60 seconds, per key', () => {
  const clock = settableClock()
  const rate = new RateLimiter(clock, perMinute(2))
  expect(rate.take('a')).toBe(0)
  clock.advance(59_000)
  expect([rate.take('a'), rate.take('a'), rate.take('b')]).toEqual([0, 1_000, 0])
  clock.advance(1_000)
  expect([rate.take('a'), rate.take('a')]).toEqual([0, 59_000])
})

test('nobody waits longer because the clock was set back', () => {
  const clock = settableClock()
  const rate = new RateLimiter(clock, perMinute(1))
  expect(rate.take('a')).toBe(0)
  clock.correct(-86_400_000)
  clock.advance(60_000)
  expect(rate.take('a')).toBe(0)
})

test('0 means no limit', () => {
  const rate = new RateLimiter(settableClock(), perMinute(0))
  expect([rate.take('a'), rate.take('a')]).toEqual([0, 0])
})

test('a flood of keys evicts unused ones, and no others', () => {
  const rate = new RateLimiter(settableClock(), perMinute(1))
  for (const key of ['idle', 'busy']) rate.take(key)
  for (let i = 0; i < 10_000; i++) {
    rate.take(`other ${i}`)
    expect(rate.take('busy')).toBeGreaterThan(0)
  }
  expect(rate.take('idle')).toBe(0)
})
