import { onTestFinished, expect, test } from 'vitest'
import { recordEvent } from '../../../src/mail/event/event-log.ts'
import { LogReader } from '../../../src/mail/event/log-reader.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { DamagedRows } from '../../../src/platform/store/damaged-rows.ts'
import { DamagedError, type Database, type Statement } from '../../../src/platform/store/database.ts'
import { removeInPieces } from '../../../src/platform/store/remove-in-pieces.ts'
import { openDatabase } from '../../../src/platform/store/sqlite/sqlite-database.ts'
import { TableWalk, type WalkedTable } from '../../../src/platform/store/table-walk.ts'
import { damage, pagesIn, pageWith, type Page } from '../../support/damaged-pages.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const put = (id: string, words = id): Statement => ({
  sql: 'insert into content (message_id, chunk, bytes) values (:id, 0, :bytes)',
  params: { id, bytes: Buffer.from(words.repeat(100)) },
})
const other = (name: string): Statement => ({ sql: 'insert into cursor (name, position) values (:name, 1)', params: { name } })
const idOf = (number: number): string => `em_${String(number).padStart(4, '0')}`

/** A database with 200 rows of content in which one page is damaged. */
async function openDamaged(pageOf: (directory: string) => Page): Promise<{ db: Database; told: DamagedError[]; fatal: Error[] }> {
  const directory = testDirectory()
  const { db: before } = await openDatabase({ directory })
  await before.write(Array.from({ length: 200 }, (_, i) => put(idOf(i))))
  await before.close()
  damage(directory, pageOf(directory))
  const [told, fatal]: [DamagedError[], Error[]] = [[], []]
  const { db } = await openDatabase({ directory, onDamage: (error) => told.push(error), onFatal: (error) => fatal.push(error) })
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

test('rows are removed around a damaged page, whether by their number or by their keys', async () => {
  const { db } = await openDamaged(leafWith(idOf(7).repeat(9)))
  const sql =
    'delete from content where message_id in (select message_id from content where message_id < :before order by message_id limit :rows offset :skip)'
  const removed = await removeInPieces(db, [{ sql, params: { before: idOf(100) } }])
  expect(removed).toBeGreaterThan(90)
  expect(removed).toBeLessThan(100)
  const walk = new TableWalk('')
  await walk.run(db, byKey(db), 0)
  // What stays are the rows of that page, and of the pages next to it what would have to be moved there.
  const left = await db.read('select message_id from content order by message_id')
  expect(left.length).toBeGreaterThan(3)
  expect(left.length).toBeLessThan(20)
})

const byKey = (db: Database): WalkedTable<string> => ({
  async piece(after, rows) {
    const found = await db.read<{ id: string }>(
      'select message_id as id from content where message_id > :after order by message_id limit :rows',
      { after, rows },
    )
    const last = found.at(-1)?.id
    return last === undefined ? null : { last, isEnd: found.length < rows }
  },
  remove: (after, last) => [{ sql: 'delete from content where message_id > :after and message_id <= :last', params: { after, last } }],
})

test('a reader of the log passes over events that cannot be read, and over no others', async () => {
  const directory = testDirectory()
  const { db: before } = await openDatabase({ directory })
  const about = { accountId: 'acc_1', messageId: 'em_1', recipientId: 'rcp_1', to: 'ann@example.com', subject: 'Hello', sandbox: false }
  await before.write(Array.from({ length: 100 }, (_, i) => recordEvent(about, 'email.sent', { sent_at: `at ${i}.` }, 1000)))
  await before.close()
  damage(directory, pageWith(directory, 'event', 'at 50.'))
  const { db } = await openDatabase({ directory })
  onTestFinished(() => db.close())
  const taken: number[] = []
  const reader = new LogReader(
    { db, log: silentLog },
    {
      cursor: 'test',
      fault: 'the test could not read',
      maxEvents: 30,
      async take({ from, to }) {
        const rows = await db.read<{ seq: number; data: string }>('select seq, data from event where seq > :from and seq <= :to', {
          from,
          to,
        })
        return { statements: [], written: () => taken.push(...rows.map(({ seq }) => seq)) }
      },
    },
  )
  await reader.keepUp()
  expect(await db.read("select position from cursor where name = 'test'")).toEqual([{ position: 100 }])
  expect(taken).toEqual(expect.arrayContaining([1, 2, 3, 98, 99, 100]))
  // A page holds about thirty.
  expect(taken.length).toBeGreaterThan(60)
  expect(taken.length).toBeLessThan(100)
})

test('a queue goes around rows that cannot be claimed, and looks at them again after a minute', () => {
  const rows = new DamagedRows()
  // The second row of the queue is damaged.
  expect(rows.wayFor('q', 0)).toEqual({ skip: 0, most: Infinity, until: null })
  expect(rows.met('q', 64, 0)).toBe(0)
  expect(rows.wayFor('q', 0)).toMatchObject({ skip: 0, most: 1 })
  rows.passed('q')
  expect(rows.met('q', 2, 10)).toBe(10)
  expect(rows.met('q', 1, 20)).toBe(20)
  expect(rows.wayFor('q', 30)).toMatchObject({ skip: 1, most: 1, until: 60_020 })
  rows.passed('q')
  expect(rows.wayFor('q', 60_019)).toMatchObject({ skip: 1, most: 2 })
  expect(rows.wayFor('q', 60_020)).toEqual({ skip: 0, most: Infinity, until: null })
})
