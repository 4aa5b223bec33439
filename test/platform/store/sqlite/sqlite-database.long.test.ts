import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { ConflictError, UniqueError, type Statement } from '../../../../src/platform/store/database.ts'
import { databaseFile } from '../../../../src/platform/store/sqlite/data-directory.ts'
import { openReader, openWriter } from '../../../../src/platform/store/sqlite/sqlite-connection.ts'
import { openDatabase } from '../../../../src/platform/store/sqlite/sqlite-database.ts'
import { inOtherProcess } from '../../../support/other-process.ts'
import { testDirectory } from '../../../support/temporary-directory.ts'

/** In a process of its own. */
const openIt = `const { openDatabase } = await source('platform/store/sqlite/sqlite-database.ts'); await openDatabase({ directory: given });`

const openStore = async (directory = testDirectory()) => (await openFiles(directory)).db

async function openFiles(directory: string) {
  const store = await openDatabase({ directory })
  onTestFinished(() => store.db.close().catch(() => {}))
  return store
}

const put = (name: string, position = 0): Statement => ({
  sql: 'insert into cursor (name, position) values (:name, :position)',
  params: { name, position },
})
const move = (name: string, from: number): Statement => ({
  sql: 'update cursor set position = position + 1 where name = :name and position = :from',
  params: { name, from },
  expect: 1,
  guard: 'cursor',
})

test('a batch is written whole or not at all, and a refused one leaves its neighbours alone', async () => {
  const db = await openStore()
  await db.write([put('taken')])
  const results = await Promise.allSettled([
    db.write([put('a1'), put('a2')]),
    db.write([put('b1'), put('taken')]),
    db.write([put('c1'), move('nobody', 0)]),
    db.write([put('d1'), { sql: 'insert into no_such_table values (1)' }]),
    db.write([put('e1'), move('e1', 0)]),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'])
  const reasons = results.map((result) => (result.status === 'rejected' ? result.reason : null))
  expect(reasons[1]).toBeInstanceOf(UniqueError)
  expect(reasons[2]).toBeInstanceOf(ConflictError)
  expect(reasons[2].guard).toBe('cursor')
  const rows = await db.read<{ name: string }>('select name from cursor order by name')
  expect(rows.map(({ name }) => name)).toEqual(['a1', 'a2', 'e1', 'taken'])
})

test('who waits for rows of a table hears of each batch that has added some, once it is on disk', async () => {
  const db = await openStore()
  const heard: string[] = []
  const end = db.onInsert('cursor', () => heard.push('cursor'))
  db.onInsert('event', () => heard.push('event'))
  await db.write([put('one'), put('two')])
  await db.write([move('one', 0)]).catch(() => {})
  await db.write([put('one')]).catch(() => {})
  await db.write([{ sql: 'insert into upload (message_id) values (:id)', params: { id: 'em_1' } }])
  expect(heard).toEqual(['cursor'])
  end()
  await db.write([put('three')])
  expect(heard).toEqual(['cursor'])
})

test('groups with and without refused batches follow each other, and each is written as if it were alone', async () => {
  const db = await openStore()
  const expected: string[] = []
  for (let round = 0; round < 30; round++) {
    const isRefused = round % 10 === 3
    const batches = [[put(`${round} a`)], [put(`${round} b`), ...(isRefused ? [put('0 a')] : [])], [put(`${round} c`)]]
    const results = await Promise.allSettled(batches.map((batch) => db.write(batch)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', isRefused ? 'rejected' : 'fulfilled', 'fulfilled'])
    expected.push(`${round} a`, ...(isRefused ? [] : [`${round} b`]), `${round} c`)
  }
  const rows = await db.read<{ name: string }>('select name from cursor')
  expect(rows.map(({ name }) => name).toSorted()).toEqual(expected.toSorted())
})

test('a parameter without a value is refused, one used twice has one value, and what looks like one is none', async () => {
  const db = await openStore()
  await expect(db.write([{ sql: 'insert into cursor (name, position) values (:name, :position)', params: { name: 'a' } }])).rejects.toThrow(
    ':position',
  )
  const read = db.read<{ one: string; two: string; quoted: string }>(
    "select :name as one, :name as two, ':name ''::name' as quoted -- :nothing",
    { name: 'x', unused: 1 },
  )
  expect(await read).toEqual([{ one: 'x', two: 'x', quoted: ":name '::name" }])
})

test('of many writers that want the same row exactly one gets it', async () => {
  const db = await openStore()
  await db.write([put('claim')])
  const results = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => db.write([move('claim', 0), put(`winner ${i}`)])))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await db.read("select name from cursor where name like 'winner%'")).toHaveLength(1)
})

test('a read sees what was written before it, and gives blobs back as they were', async () => {
  const db = await openStore()
  const bytes = new Uint8Array(new SharedArrayBuffer(300_000)).fill(7)
  const [written] = await db.write([
    {
      sql: 'insert into content (message_id, chunk, bytes) values (:id, 0, :bytes) returning chunk',
      params: { id: 'em_1', bytes },
    },
  ])
  expect(written).toEqual({ rows: [{ chunk: 0 }], changes: 1 })
  for (const read of [db.read, db.slowRead]) {
    const [row] = await read<{ bytes: Uint8Array }>('select bytes from content where message_id = :id', { id: 'em_1' })
    expect(row?.bytes.buffer).toBeInstanceOf(SharedArrayBuffer)
    expect(Buffer.compare(Buffer.from(row?.bytes ?? []), Buffer.from(bytes))).toBe(0)
  }
})

test('batches that may wait are written too, together with the next one or by themselves', async () => {
  const db = await openStore()
  const order: string[] = []
  await Promise.all([
    db.write([put('patient')], { mayBatch: true }).then(() => order.push('patient')),
    db.write([put('prompt')]).then(() => order.push('prompt')),
  ])
  expect(order.toSorted()).toEqual(['patient', 'prompt'])
  await db.write([put('alone')], { mayBatch: true })
  expect(await db.read('select name from cursor')).toHaveLength(3)
})

test('every connection flushes each commit to disk, also when the database existed before', () => {
  const directory = testDirectory()
  for (let round = 0; round < 2; round++) {
    const connection = openWriter(directory)
    expect(connection.pragma('synchronous', { simple: true })).toBe(2)
    expect(connection.pragma('journal_mode', { simple: true })).toBe('wal')
    connection.close()
  }
  const reader = openReader(directory)
  expect(() => reader.exec('create table t (x)')).toThrow(/readonly/)
  reader.close()
})

test('the data directory belongs to one process, and is free again when that one was killed', async () => {
  const directory = testDirectory()
  const { db } = await openDatabase({ directory })
  await expect(openDatabase({ directory })).rejects.toThrow(/in use by another Sterna process/)
  await db.close()
  const script = `${openIt} process.kill(process.pid, 'SIGKILL')`
  expect(inOtherProcess(script, directory)).toEqual({ signal: 'SIGKILL', stdout: '', stderr: '' })
  await (await openDatabase({ directory })).db.close()
})

test.each([
  ['its lock was removed', ['lock']],
  ['its lock and what names its database were removed', ['lock', 'database.json']],
])('the data directory belongs to one process also where %s', async (_, names) => {
  const directory = testDirectory()
  const db = await openStore(directory)
  await db.write([put('first')])
  // Twice: the first attempt makes a lock of its own.
  for (let times = 0; times < 2; times++) {
    for (const name of times === 0 ? names : []) rmSync(join(directory, name))
    expect(inOtherProcess(`${openIt} console.log('open')`, directory)).toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(/Another process has .*sterna\.db open/),
    })
  }
  await db.write([put('second')])
  await db.close()
  const again = await openStore(directory)
  expect(await again.read('select name from cursor')).toHaveLength(2)
})

test("a copy of a directory is nobody else's, and its lock holds", async () => {
  const directory = testDirectory()
  const db = await openStore(directory)
  const copy = testDirectory()
  cpSync(directory, copy, { recursive: true })
  const other = await openStore(copy)
  await other.write([put('copied')])
  expect(inOtherProcess(`${openIt} console.log('open')`, copy)).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('in use by another Sterna'),
  })
  await db.close()
})

test('that writing fails for everybody is told, and that it succeeds again; a batch that is refused alone says nothing', async () => {
  const directory = testDirectory()
  const told: (string | null)[] = []
  const { db } = await openDatabase({ directory, onWriting: (fault) => told.push(fault) })
  onTestFinished(() => db.close())
  await db.write([put('taken')])
  await expect(db.write([put('taken')])).rejects.toThrow(UniqueError)
  await expect(db.write([{ sql: 'insert into no_such_table values (1)' }])).rejects.toThrow('no_such_table')
  expect(told).toEqual([])
  const shell = new Sqlite(databaseFile(directory))
  shell.exec('begin immediate')
  await expect(Promise.all([db.write([put('a')]), db.write([put('b')])])).rejects.toThrow('locked')
  expect(told).toEqual(['database is locked'])
  shell.exec('rollback')
  shell.close()
  await db.write([put('d')])
  expect(told).toEqual(['database is locked', null])
})

test('the thread for reports that cannot start fails its report alone, and starts with a later one', () => {
  const script = `
    import { closeSync, openSync } from 'node:fs'
    const { openDatabase } = await source('platform/store/sqlite/sqlite-database.ts')
    const { db } = await openDatabase({ directory: given, onFatal: () => console.log('fatal') })
    const held = []
    const holdAll = () => { try { for (;;) held.push(openSync(given)) } catch {} }
    const ask = () => db.slowRead('select 1 as one').then(() => {}, () => console.log('refused'))
    holdAll()
    const first = ask()
    // Also what was kept back for the thread.
    holdAll()
    await first
    for (const left of [0, 6, 12, 18]) {
      for (const file of held.splice(0, left)) closeSync(file)
      await ask()
    }
    await db.write([{ sql: "insert into cursor (name, position) values ('a', 1)" }])
    for (const file of held) closeSync(file)
    console.log((await db.slowRead('select name from cursor'))[0].name)
    await db.close()`
  const { stdout, stderr } = inOtherProcess(script, testDirectory(), { files: 128 })
  expect(stderr).toBe('')
  expect(stdout).toMatch(/^(?:refused\n){1,5}a\n$/)
})

test('what does not fit into the cache goes into memory, so no temporary file need be opened', () => {
  const script = `
    import { openSync } from 'node:fs'
    const { openDatabase } = await source('platform/store/sqlite/sqlite-database.ts')
    const Sqlite = (await source('../node_modules/better-sqlite3/lib/index.js')).default
    const { db } = await openDatabase({ directory: given, onFatal: (error) => console.log('fatal', error.message) })
    const put = (chunk) => ({ sql: 'insert into content (message_id, chunk, bytes) values (:id, :chunk, :bytes)', params: { id: 'm', chunk, bytes: new Uint8Array(60_000) } })
    await db.write(Array.from({ length: 200 }, (_, chunk) => put(chunk)))
    const sort = 'select chunk, bytes from content order by bytes desc, chunk'
    await db.slowRead(sort)
    const careless = new Sqlite(given + '/sterna.db')
    careless.pragma('cache_size = -4000')
    careless.prepare(sort).all()
    try { for (;;) openSync(given) } catch {}
    // Behind a refused batch each is written apart, and what it changes is kept until it is done.
    const update = { sql: 'update content set bytes = :bytes', params: { bytes: new Uint8Array(60_000).fill(1) } }
    const written = await Promise.allSettled([db.write([put(0)]), db.write([update]), db.write([update])])
    console.log(written.map(({ status }) => status).join())
    console.log((await db.slowRead(sort)).length)
    try { careless.prepare(sort).all() } catch (error) { console.log(error.code) }
    await db.close()`
  const { stdout, stderr } = inOtherProcess(script, testDirectory(), { files: 128 })
  expect({ stdout, stderr }).toEqual({ stdout: 'rejected,fulfilled,fulfilled\n200\nSQLITE_CANTOPEN\n', stderr: '' })
})

test('a database of a newer version is refused and left as it is', async () => {
  const directory = testDirectory()
  await (await openDatabase({ directory })).db.close()
  const connection = new Sqlite(databaseFile(directory))
  connection.pragma('user_version = 9999')
  connection.close()
  await expect(openDatabase({ directory })).rejects.toThrow(/schema 9999.*newer/)
})

test('a damaged database is refused, never taken for an empty one', async () => {
  const directory = testDirectory()
  const { db } = await openDatabase({ directory })
  await db.write([put('precious')])
  await db.close()
  const bytes = readFileSync(databaseFile(directory))
  writeFileSync(databaseFile(directory), Buffer.concat([Buffer.alloc(100, 0xff), bytes.subarray(100)]))
  await expect(openDatabase({ directory })).rejects.toThrow(/is not an SQLite database/)
})

test('what SQLite alone cannot open is told with its place and what to do', async () => {
  const directory = testDirectory()
  const { db } = await openDatabase({ directory })
  await db.close()
  const bytes = readFileSync(databaseFile(directory))
  writeFileSync(databaseFile(directory), bytes.subarray(0, 4096))
  const told: (string | null)[] = []
  const opening = openDatabase({ directory, onWriting: (fault) => told.push(fault) })
  await expect(opening).rejects.toMatchObject({
    code: 'configuration',
    message: expect.stringMatching(/^The database in .* cannot be opened: .*malformed.* sterna restore/),
  })
  expect(told).toEqual([])
})

test('a backup holds what was written before it while writing goes on', async () => {
  const directory = testDirectory()
  const { db, files } = await openFiles(directory)
  await db.write(Array.from({ length: 500 }, (_, i) => put(`before ${i}`)))
  const file = join(directory, 'copy.db')
  await Promise.all([files.backup(file), ...Array.from({ length: 50 }, (_, i) => db.write([put(`during ${i}`)]))])
  const copy = new Sqlite(file, { readonly: true })
  expect(copy.prepare("select count(*) as n from cursor where name like 'before%'").get()).toEqual({ n: 500 })
  expect(copy.pragma('integrity_check', { simple: true })).toBe('ok')
  copy.close()
})

test('a backup gets ready while batches are refused all the time', async () => {
  const directory = testDirectory()
  const { db, files } = await openFiles(directory)
  const content = { sql: "insert into returned_mail_content (id, box, cost, bytes) values (:id, 'open', 1, :bytes)" }
  for (let i = 0; i < 16; i++) await db.write([{ ...content, params: { id: `rep_${i}`, bytes: new Uint8Array(2_000_000) } }, put(`${i}`)])
  let isReady = false
  const backup = files.backup(join(directory, 'copy.db')).then(() => (isReady = true))
  for (let refused = 0; refused < 2_000 && !isReady; refused++) await expect(db.write([put('new'), put('0')])).rejects.toThrow(UniqueError)
  expect(isReady).toBe(true)
  await backup
})

test('a backup that cannot be written fails alone', async () => {
  const directory = testDirectory()
  const fatal: Error[] = []
  const { db, files } = await openDatabase({ directory, onFatal: (error) => fatal.push(error) })
  await db.write([put('before')])
  await expect(files.backup(join(directory, 'nowhere', 'copy.db'))).rejects.toThrow(/cannot be written/)
  await db.write([put('after')])
  await db.close()
  expect(fatal).toEqual([])
})

test('only the owner may read the files, also in a directory that lets everybody in', async () => {
  const directory = testDirectory()
  chmodSync(directory, 0o755)
  const db = await openStore(directory)
  await db.write([put('a')])
  const open = readdirSync(directory).filter((name) => (statSync(join(directory, name)).mode & 0o077) !== 0)
  expect(open).toEqual([])
})
