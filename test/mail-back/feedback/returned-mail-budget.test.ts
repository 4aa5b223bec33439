import { expect, test } from 'vitest'
import { ReturnedMailBudget, costOf } from '../../../src/mail-back/feedback/returned-mail-budget.ts'
import { settableClock } from '../../support/settable-clock.ts'

const megabyte = 1_000_000

test('each source gets its own share of a box per day', () => {
  const clock = settableClock()
  const budget = new ReturnedMailBudget(clock, 32 * megabyte)
  expect([budget.take('open', 'a', megabyte), budget.take('open', 'a', megabyte), budget.take('open', 'a', 1)]).toEqual([true, true, false])
  expect(budget.take('open', 'b', 2 * megabyte)).toBe(true)
  // A clock that is set back makes the day no longer.
  clock.correct(-86_400_000)
  clock.advance(86_400_000)
  expect(budget.take('open', 'a', 2 * megabyte)).toBe(true)
})

test('a day ends a day after its first message', () => {
  const clock = settableClock()
  const budget = new ReturnedMailBudget(clock, 32 * megabyte)
  budget.take('open', 'a', megabyte)
  clock.advance(80_000_000)
  expect(budget.take('open', 'a', megabyte)).toBe(true)
  clock.advance(6_400_000)
  expect(budget.take('open', 'a', 2 * megabyte)).toBe(true)
})

test('a full box accepts nothing until content is deleted, and does not affect the others', () => {
  const budget = new ReturnedMailBudget(settableClock(), megabyte)
  budget.measured({ open: megabyte - 10, proved: 0, operator: 0 })
  expect([budget.take('open', 'a', 11), budget.take('proved', 'a', 11), budget.take('open', 'b', 10)]).toEqual([false, true, true])
  expect(budget.take('open', 'c', 1)).toBe(false)
  budget.measured({ open: 0, proved: 0, operator: 0 })
  expect(budget.take('open', 'c', 1)).toBe(true)
})

test('a small message costs as much as its rows, once per recipient', () => {
  expect([costOf(1, 1), costOf(5_000, 1), costOf(5_000, 3)]).toEqual([4_096, 5_000, 15_000])
})
