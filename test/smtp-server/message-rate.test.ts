import { expect, test } from 'vitest'
import { MessageRate } from '../../src/smtp-server/message-rate.ts'
import { settableClock } from '../support/settable-clock.ts'

test('never more than the limit in any 60 seconds, each account for itself', () => {
  const clock = settableClock()
  const rate = new MessageRate(clock, 2)
  expect(rate.take('a')).toBe(true)
  clock.advance(59_000)
  expect([rate.take('a'), rate.take('a'), rate.take('b')]).toEqual([true, false, true])
  clock.advance(1_000)
  expect([rate.take('a'), rate.take('a')]).toEqual([true, false])
})

test('nobody waits longer because the time of day was set back', () => {
  const clock = settableClock()
  const rate = new MessageRate(clock, 1)
  expect(rate.take('a')).toBe(true)
  clock.correct(-86_400_000)
  clock.advance(60_000)
  expect(rate.take('a')).toBe(true)
})
