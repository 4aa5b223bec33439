import { expect, test } from 'vitest'
import { FailedLogins } from '../../../src/mail-in/submission/failed-logins.ts'
import { settableClock, type SettableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const failedLogins = async (clock: SettableClock = settableClock()) => new FailedLogins({ db: await testDatabase(), clock })

test('the eleventh failure in ten minutes is one too many, for that network alone', async () => {
  const clock = settableClock()
  const logins = await failedLogins(clock)
  const isTooMany = async (address: string): Promise<boolean> => (await logins.add(address)).isTooMany
  for (let i = 0; i < 10; i++) expect(await isTooMany('192.0.2.1')).toBe(false)
  expect(await isTooMany('192.0.2.1')).toBe(true)
  expect(await isTooMany('::ffff:192.0.2.1')).toBe(true)
  expect(await isTooMany('192.0.2.2')).toBe(false)
  clock.advance(10 * 60_000)
  expect(await isTooMany('192.0.2.1')).toBe(false)
})

test('the answer waits for longer the more failures there were, up to four seconds', async () => {
  const logins = await failedLogins()
  const delays: number[] = []
  for (let i = 0; i < 12; i++) delays.push((await logins.add('192.0.2.1')).delayMs)
  expect(delays).toEqual([0, 0, 0, 500, 1_000, 2_000, ...Array<number>(6).fill(4_000)])
  expect((await logins.add('192.0.2.2')).delayMs).toBe(0)
})

test('addresses of one IPv6 /64 are one client', async () => {
  const logins = await failedLogins()
  for (let i = 0; i < 10; i++) await logins.add(`2001:db8::${i}`)
  expect((await logins.add('2001:db8::ffff')).isTooMany).toBe(true)
  expect((await logins.add('2001:db8:0:1::1')).isTooMany).toBe(false)
})
