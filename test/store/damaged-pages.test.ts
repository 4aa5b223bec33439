import { onTestFinished, expect, test } from 'vitest'
import { DamagedError, type Database, type Statement } from '../../src/store/database.ts'
import { openDatabase } from '../../src/store/sqlite-database.ts'
import { damage, pagesIn, pageWith, type Page } from '../support/damaged-pages.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const put = (id: string, words = id): Statement => ({
  sql: 'insert into content (message_id, chunk, bytes) values (:id, 0, :bytes)',
  params: { id, bytes: Buffer.from(words.repeat(100)) },
})
const other = (name: string): Statement => ({ sql: 'insert into cursor (name, position) values (:name, 1)', params: { name } })
const idOf = (number: number): string => `em_${String(number).padStart(4, '0')}`

/** A database with 200 rows of content in which one page is damaged. */
async function openDamaged(pageOf: (directory: string) => Page): Promise<{ db: Database; told: DamagedError[]; fatal: Error[] }> {
  const directory = testDirectory()
  const before = await openDatabase({ directory })
  await before.write(Array.from({ length: 200 }, (_, i) => put(idOf(i))))
  await before.close()
  damage(directory, pageOf(directory))
  const [told, fatal]: [DamagedError[], Error[]] = [[], []]
  const db = await openDatabase({ directory, onDamage: (error) => told.push(error), onFatal: (error) => fatal.push(error) })
  onTestFinished(() => db.close())
  return { db, told, fatal }
}

const leafWith = (words: string) => (directory: string) => pageWith(directory, 'content', words)
const lastLeaf = (directory: string): Page => pagesIn(directory).findLast(({ name, type }) => name === 'content' && type === 'leaf') as Page

test.each(['read', 'slowRead'] as const)('a %s of a damaged page fails alone, and says which table and what to do', async (way) => {
  const { db, told, fatal } = await openDamaged(leafWith(idOf(7).repeat(9)))
  const ask = (id: string) => db[way]('select bytes from content where message_id = :id', { id })
  await expect(ask(idOf(7))).rejects.toThrow(DamagedError)
  expect(await ask(idOf(199))).toHaveLength(1)
  await db.write([other('a')])
  expect(told.map(({ tables, keepsOut }) => ({ tables, keepsOut }))).toEqual([{ tables: ['content'], keepsOut: false }])
  expect(told[0]?.message).toMatch(/table content .*sterna backup list.*sterna restore BACKUP/)
  expect(fatal).toEqual([])
})

test('a batch that needs a damaged page is refused, and those beside it are written', async () => {
  const { db, told, fatal } = await openDamaged(leafWith(idOf(7).repeat(9)))
  const remove = { sql: 'delete from content where message_id = :id', params: { id: idOf(7) } }
  for (let round = 0; round < 3; round++) {
    const results = await Promise.allSettled([
      db.write([other(`a${round}`)]),
      db.write([other(`b${round}`), remove]),
      db.write([other(`c${round}`)]),
    ])
    expect(results.map((result) => (result.status === 'rejected' ? result.reason : null))).toEqual([null, expect.any(DamagedError), null])
  }
  expect((await db.read("select name from cursor where name like '%_' and position = 1 order by name")).map(({ name }) => name)).toEqual(
    expect.arrayContaining(['a0', 'a1', 'a2', 'c0', 'c1', 'c2']),
  )
  expect(await db.read("select name from cursor where name like 'b%'")).toEqual([])
  expect(told[0]).toMatchObject({ tables: ['content'], keepsOut: false, statement: 1 })
  expect(fatal).toEqual([])
})

test('where new rows cannot be written, that is told apart', async () => {
  const { db, told, fatal } = await openDamaged(lastLeaf)
  await expect(db.write([other('a'), put(idOf(200))])).rejects.toThrow(DamagedError)
  await db.write([other('b')])
  expect(told).toMatchObject([{ tables: ['content'], keepsOut: true, statement: 1 }])
  expect(fatal).toEqual([])
})

test('bytes that are not those of their checksum are not read', async () => {
  const { db, told } = await openDamaged(leafWith(idOf(7).repeat(9)))
  await db.write([
    {
      sql: "insert into content (message_id, chunk, bytes, crc32) values ('right', 0, :bytes, 3610402655)",
      params: { bytes: Buffer.from('hello') },
    },
    {
      sql: "insert into content (message_id, chunk, bytes, crc32) values ('wrong', 0, :bytes, 907060869)",
      params: { bytes: Buffer.from('hello') },
    },
  ])
  const ask = (id: string) => db.read('select bytes, crc32 from content where message_id = :id', { id })
  await expect(ask('wrong')).rejects.toThrow(/its checksum does not match/)
  expect(told).toHaveLength(1)
})
