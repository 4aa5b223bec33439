import { expect, test } from 'vitest'
import { FailedLogins } from '../../../src/mail-in/submission/failed-logins.ts'
import { settableClock } from '../../support/settable-clock.ts'

test('the eleventh failure in ten minutes is one too many, for that network alone', () => {
  const clock = settableClock()
  const logins = new FailedLogins(clock)
  const isTooMany = (address: string): boolean => logins.add(address).isTooMany
  for (let i = 0; i < 10; i++) expect(isTooMany('192.0.2.1')).toBe(false)
  expect(isTooMany('192.0.2.1')).toBe(true)
  expect(isTooMany('::ffff:192.0.2.1')).toBe(true)
  expect(isTooMany('192.0.2.2')).toBe(false)
  clock.advance(10 * 60_000)
  expect(isTooMany('192.0.2.1')).toBe(false)
})

test('the answer waits for longer the more failures there were, up to four seconds', () => {
  const clock = settableClock()
  const logins = new FailedLogins(clock)
  const delays = Array.from({ length: 12 }, () => logins.add('192.0.2.1').delayMs)
  expect(delays).toEqual([0, 0, 0, 500, 1_000, 2_000, ...Array<number>(6).fill(4_000)])
  expect(logins.add('192.0.2.2').delayMs).toBe(0)
})

test('addresses of one IPv6 /64 are one client', () => {
  const logins = new FailedLogins(settableClock())
  for (let i = 0; i < 10; i++) logins.add(`2001:db8::${i}`)
  expect(logins.add('2001:db8::ffff').isTooMany).toBe(true)
  expect(logins.add('2001:db8:0:1::1').isTooMany).toBe(false)
})

test('a flood of addresses pushes out the oldest', () => {
  const logins = new FailedLogins(settableClock())
  for (let i = 0; i < 10; i++) logins.add('192.0.2.1')
  for (let i = 0; i < 10_000; i++) logins.add(`10.0.${i >> 8}.${i & 255}`)
  expect(logins.add('192.0.2.1').isTooMany).toBe(false)
})
