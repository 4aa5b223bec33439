import { expect, test } from 'vitest'
import { CountedUses, sweepLimits } from '../../../src/platform/store/counted-uses.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const windowMs = 60_000

async function counted(limit: number) {
  const [db, clock] = [await testDatabase(), settableClock()]
  const uses = new CountedUses({ db, clock }, { name: 'test', limit, windowMs })
  const wait = async (key: string, otherKey?: string): Promise<number> => (await uses.take(key, otherKey)).waitMs
  return { db, clock, uses, wait }
}

test('allows no more than the limit in any 60 seconds, per key', async () => {
  const { clock, wait } = await counted(2)
  expect(await wait('a')).toBe(0)
  clock.advance(59_000)
  expect([await wait('a'), await wait('a'), await wait('b')]).toEqual([0, 1_000, 0])
  clock.advance(1_000)
  expect([await wait('a'), await wait('a')]).toEqual([0, 59_000])
})

test('two keys are counted together or not at all, and wait for the last one', async () => {
  const { clock, uses, wait } = await counted(2)
  await uses.take('user')
  clock.advance(10_000)
  const last = await uses.take('user', 'network')
  expect([last.waitMs, await wait('user', 'network'), await wait('network', 'user')]).toEqual([0, 50_000, 50_000])
  expect([await uses.countOf('user'), await uses.countOf('network'), await uses.countOf('other')]).toEqual([2, 1, 0])
  await last.giveBack()
  expect([await uses.countOf('user'), await uses.countOf('network')]).toEqual([1, 0])
})

test('many at once are no more than the limit', async () => {
  const { wait } = await counted(5)
  const waits = await Promise.all(Array.from({ length: 20 }, () => wait('user', 'network')))
  expect(waits.filter((ms) => ms === 0)).toHaveLength(5)
})

test('limits with different names do not count each other', async () => {
  const { db, clock, wait } = await counted(1)
  await wait('a')
  const other = new CountedUses({ db, clock }, { name: 'other', limit: 1, windowMs })
  expect((await other.take('a')).waitMs).toBe(0)
})

test('what was counted is still counted after a restart, and names nobody', async () => {
  const { db, clock, uses } = await counted(1)
  await uses.take('ann@example.com')
  const after = new CountedUses({ db, clock }, { name: 'test', limit: 1, windowMs })
  expect((await after.take('ann@example.com')).waitMs).toBe(windowMs)
  expect(JSON.stringify(await db.read('select id, key, expires_at from counted_use'))).not.toContain('ann')
})

test('nobody waits for a clock that was set back', async () => {
  const { clock, wait } = await counted(1)
  expect(await wait('a')).toBe(0)
  clock.correct(-86_400_000)
  expect(await wait('a')).toBe(0)
})

test('what counts no more is removed', async () => {
  const { db, clock, uses } = await counted(2)
  await uses.take('a')
  clock.advance(windowMs)
  await uses.take('a')
  await sweepLimits(db, clock.now())
  expect(await db.read('select key from counted_use')).toHaveLength(1)
})
