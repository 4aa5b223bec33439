import { expect, test } from 'vitest'
import { KeyedMutex } from '../../../src/platform/store/keyed-mutex.ts'
import { testDatabase } from '../../support/test-database.ts'

test('what is done for one owner is done one after the other, well or not, and meanwhile for others', async () => {
  const turns = new KeyedMutex()
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<string>>()
  const take = (owner: string, name: string): Promise<string> =>
    turns.take(owner, () => {
      begun.push(name)
      const end = Promise.withResolvers<string>()
      ends.set(name, end)
      return end.promise
    })
  const first = take('a', 'a1')
  const second = take('a', 'a2')
  const third = take('a', 'a3')
  const other = take('b', 'b1')
  expect(begun).toEqual(['a1', 'b1'])
  ends.get('b1')?.resolve('b1')
  await expect(other).resolves.toBe('b1')
  expect(begun).toEqual(['a1', 'b1'])
  ends.get('a1')?.reject(new Error('a1 fails'))
  await expect(first).rejects.toThrow('a1 fails')
  await expect.poll(() => begun).toEqual(['a1', 'b1', 'a2'])
  ends.get('a2')?.resolve('a2')
  await expect(second).resolves.toBe('a2')
  await expect.poll(() => begun).toEqual(['a1', 'b1', 'a2', 'a3'])
  ends.get('a3')?.resolve('a3')
  await third
  void take('a', 'a4')
  expect(begun.at(-1)).toBe('a4')
})

test('however many reports an account asks for at once, that of another comes after the first of them', async () => {
  const db = await testDatabase()
  const answered: string[] = []
  const ask = async (accountId: string, sql: string): Promise<void> => {
    await db.slowRead(sql, { accountId })
    answered.push(accountId)
  }
  const long = `with recursive n (i) as (select 1 union all select i + 1 from n where i < 100000) select count(*) as found from n where :accountId <> ''`
  await Promise.all([...Array.from({ length: 10 }, () => ask('busy', long)), ask('other', "select 1 as found where :accountId <> ''")])
  expect(answered.indexOf('other')).toBeLessThan(2)
})
