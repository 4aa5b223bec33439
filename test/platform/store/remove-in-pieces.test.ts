import { expect, test } from 'vitest'
import { nextRows, removeInPieces } from '../../../src/platform/store/remove-in-pieces.ts'
import { TableWalk, type WalkedTable } from '../../../src/platform/store/table-walk.ts'
import { testDatabase } from '../../support/test-database.ts'

test('a piece grows while it holds the store shortly, and shrinks as much as the last one was too long', () => {
  expect(nextRows(8, 0.1)).toBe(16)
  expect(nextRows(100, 10)).toBe(100)
  expect(nextRows(100, 50)).toBe(20)
  expect(nextRows(3, 500)).toBe(1)
  expect(nextRows(4_096, 0)).toBe(4_096)
})

async function databaseWith(names: number) {
  const db = await testDatabase()
  await db.write(
    Array.from({ length: names }, (_, n) => ({
      sql: 'insert into cursor (name, position) values (:name, :n)',
      params: { name: `c${1_000 + n}`, n },
    })),
  )
  const sizes: number[] = []
  const listened: typeof db = {
    ...db,
    async write(batch, options) {
      const written = await db.write(batch, options)
      sizes.push(written.at(-1)?.changes ?? 0)
      return written
    },
  }
  const left = async () => (await db.read<{ name: string }>('select name from cursor order by name')).map(({ name }) => name)
  return { db: listened, sizes, left }
}

test('rows are removed in several commits, until none is left that may go', async () => {
  const { db, sizes, left } = await databaseWith(100)
  const sql = 'delete from cursor where name in (select name from cursor where position < 90 order by name limit :rows)'
  await removeInPieces(db, [{ sql }])
  expect(sizes.length).toBeGreaterThan(2)
  expect(await left()).toHaveLength(10)
})

/** Every other row of the table has to stay. */
const evenOnes = (db: Awaited<ReturnType<typeof databaseWith>>['db'], seen: string[]): WalkedTable<string> => ({
  async piece(after, rows) {
    const found = await db.read<{ name: string }>('select name from cursor where name > :after order by name limit :rows', { after, rows })
    seen.push(...found.map(({ name }) => name))
    const last = found.at(-1)?.name
    return last === undefined ? null : { last, isEnd: found.length < rows }
  },
  remove: (after, last) => [
    { sql: 'delete from cursor where name > :after and name <= :last and position % 2 = 0', params: { after, last } },
  ],
})

test('what has to stay is passed over once, and looked at again ten minutes later', async () => {
  const { db, left } = await databaseWith(50)
  const walk = new TableWalk('')
  const seen: string[] = []
  const run = (now: number) => walk.run(db, evenOnes(db, seen.splice(0) && seen), now)
  await run(0)
  expect(await left()).toHaveLength(25)
  await run(60_000)
  expect(seen).toEqual([])
  await db.write([
    { sql: "insert into cursor (name, position) values ('c9', 2)" },
    { sql: "update cursor set position = 2 where name = 'c1001'" },
  ])
  await run(120_000)
  expect(await left()).toHaveLength(25)
  expect(seen).toEqual(['c9'])
  await run(600_000)
  expect(await left()).toHaveLength(24)
})
