import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { commitTo, findDatabase } from '../../../../src/platform/store/sqlite/data-directory.ts'
import { openDatabase } from '../../../../src/platform/store/sqlite/sqlite-database.ts'
import { cutOffBefore } from '../../../support/cut-off.ts'
import { inOtherProcess } from '../../../support/other-process.ts'
import { temporaryDirectory, testDirectory } from '../../../support/temporary-directory.ts'

/** What each file of a directory holds; `database` and `wal` stand for the bytes of a real one. */
type State = Record<string, string>

/** A script that writes a row. */
const writing = (position: number, end: string): string => `
  const { openDatabase } = await source('platform/store/sqlite/sqlite-database.ts')
  const { db } = await openDatabase({ directory: given })
  await db.write([{ sql: 'insert into cursor (name, position) values (:name, ${position})', params: { name: 'row ${position}' } }])
  ${end}`

let database: Buffer
let wal: Buffer

/** Of a process that was killed: a database with a row, and the WAL with another one that is beside it. */
beforeAll(() => {
  const { path, remove } = temporaryDirectory()
  inOtherProcess(writing(1, 'await db.close()'), path)
  database = readFileSync(join(path, 'sterna.db'))
  inOtherProcess(writing(2, `process.kill(process.pid, 'SIGKILL')`), path)
  wal = readFileSync(join(path, 'sterna.db-wal'))
  remove()
})

function make(state: State): string {
  const directory = join(testDirectory(), 'data')
  for (const [name, content] of Object.entries(state)) {
    const path = join(directory, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, content === 'database' ? database : content === 'wal' ? wal : content)
  }
  return directory
}

/** All but what a process that was killed leaves of its lock. */
const look = (directory: string): unknown =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name !== 'lock-journal')
    .toSorted()
    .map((name) => [name, statSync(join(directory, name)).isFile() && readFileSync(join(directory, name), 'latin1')])

const key = `${Buffer.alloc(32, 7).toString('base64')}\n`
const first = '{"database":"sterna.db","lock":"1:1"}\n'
const restored = '{"database":"restored-2/sterna.db","lock":"1:1"}\n'
const beginning = '{"database":null,"lock":null}\n'

const starts: [what: string, state: State, rows: string[]][] = [
  ['nothing at all', {}, []],
  ['a key file that was provided', { 'secret.key': key }, []],
  ['what is none of ours', { 'lost+found': '', 'tls/self-signed.crt': 'x' }, []],
  ['a first start that was cut off at its beginning', { 'database.json': beginning }, []],
  ['one cut off when the lock was made', { 'database.json': beginning, lock: '' }, []],
  [
    'one cut off when the database was empty, with a provided key',
    { 'database.json': beginning, lock: '', 'sterna.db': '', 'secret.key': key },
    [],
  ],
  [
    'one cut off before it was committed to',
    { 'database.json': beginning, lock: '', 'sterna.db': 'database', 'secret.key': key },
    ['row 1'],
  ],
  ['a database', { 'database.json': first, lock: '', 'sterna.db': 'database' }, ['row 1']],
  ['a database and its WAL', { 'database.json': first, lock: '', 'sterna.db': 'database', 'sterna.db-wal': 'wal' }, ['row 1', 'row 2']],
  ['a database, and nothing beside it', { 'sterna.db': 'database' }, ['row 1']],
  [
    'a database of an earlier version',
    { lock: '', 'sterna.db': 'database', 'sterna.db-wal': 'wal', 'secret.key': key },
    ['row 1', 'row 2'],
  ],
  [
    'a restored database beside an older one',
    { 'database.json': restored, 'restored-2/sterna.db': 'database', 'sterna.db': '', 'sterna.db-wal': 'wal' },
    ['row 1'],
  ],
  [
    'a restored database, the lock removed',
    { 'database.json': restored, 'restored-2/sterna.db': 'database', 'restored-1/sterna.db': '' },
    ['row 1'],
  ],
]
const bring =
  /Nothing was changed\. Put the file back, or restore a backup in its place: sterna restore BACKUP\..* To start over, .*, move everything out of /
const keepWal = /Keep .*sterna\.db-wal/
const write = /Nothing was changed\. Write it again: \{"database":"sterna\.db"\}.* To start over, move everything out of /
const refusals: [what: string, state: State, words: RegExp[]][] = [
  ['the database is missing beside a key', { 'database.json': first, lock: '', 'secret.key': key }, [/is missing/, bring]],
  ['the database is missing beside its WAL', { 'database.json': first, lock: '', 'sterna.db-wal': 'wal' }, [/is missing/, bring, keepWal]],
  ['the database is empty', { 'database.json': first, lock: '', 'sterna.db': '' }, [/is empty/, bring]],
  [
    'the database is empty beside its WAL',
    { 'database.json': first, lock: '', 'sterna.db': '', 'sterna.db-wal': 'wal', 'secret.key': key },
    [/is empty/, bring, keepWal],
  ],
  [
    'the database is overwritten beside its WAL',
    { 'database.json': first, lock: '', 'sterna.db': 'x'.repeat(9000), 'sterna.db-wal': 'wal' },
    [/is not an SQLite database/, bring, keepWal],
  ],
  ['the database is a few bytes', { 'database.json': first, 'sterna.db': 'x' }, [/is not an SQLite database/, bring]],
  ['all but what names the database is missing', { 'database.json': first }, [/is missing/, bring]],
  [
    'the restored database is missing beside an older one',
    { 'database.json': restored, 'sterna.db': 'database' },
    [/restored-2.sterna\.db is missing/, bring],
  ],
  ['of an earlier version: the database is missing beside a key', { lock: '', 'secret.key': key }, [/is missing/, bring]],
  ['of an earlier version: the database is missing beside its WAL', { 'sterna.db-wal': 'wal' }, [/is missing/, bring, keepWal]],
  ['of an earlier version: the database is empty', { 'sterna.db': '', 'secret.key': key }, [/is empty/, bring]],
  [
    'of an earlier version: the database is empty beside its WAL',
    { lock: '', 'sterna.db': '', 'sterna.db-wal': 'wal' },
    [/is empty/, bring, keepWal],
  ],
  ['of an earlier version: the database is overwritten', { lock: '', 'sterna.db': 'x'.repeat(9000) }, [/is not an SQLite database/, bring]],
  [
    'nothing says which database is the current one',
    { 'restored-1/sterna.db': 'database', 'sterna.db': 'database' },
    [/database\.json is missing/, write],
  ],
  ['what says so is empty', { 'database.json': '', 'sterna.db': 'database' }, [/database\.json cannot be parsed/, write]],
  [
    'what says so names something else',
    { 'database.json': '{"database":"../sterna.db"}', 'sterna.db': 'database' },
    [/database\.json cannot be parsed/, write],
  ],
]

test.each(starts)('a start finds all there is: %s', async (_, state, rows) => {
  const directory = make(state)
  const { isNew } = findDatabase(directory)
  for (let times = 0; times < 2; times++) {
    const { db } = await openDatabase({ directory })
    expect(
      (await db.read<{ name: string }>(`select name from cursor where name like 'row%' order by name`)).map(({ name }) => name),
    ).toEqual(rows)
    await db.close()
    expect(findDatabase(directory).isNew).toBe(false)
  }
  expect(isNew).toBe(!JSON.stringify(state).includes('"database"') || state['database.json'] === beginning)
})

test.each(refusals)('a start is refused, and nothing written or removed, where %s', async (_, state, words) => {
  const directory = make(state)
  const before = look(directory)
  for (let times = 0; times < 2; times++) {
    const refused = await openDatabase({ directory }).catch((error: unknown) => error as Error & { code: string })
    expect(refused).toMatchObject({ code: 'configuration' })
    for (const each of words) expect((refused as Error).message).toMatch(each)
    expect(look(directory)).toEqual(before)
  }
})

test('a database that was committed to is known as one from then on', async () => {
  const directory = testDirectory()
  await (await openDatabase({ directory })).db.close()
  rmSync(join(directory, 'sterna.db'))
  await expect(openDatabase({ directory })).rejects.toThrow('is missing')
})

test('a database that another file was put in the place of, beside its WAL, is not started with it', async () => {
  const directory = testDirectory()
  const path = (name: string): string => join(directory, name)
  const rows = async (): Promise<string[]> => {
    const { db } = await openDatabase({ directory })
    const found = await db.read<{ name: string }>("select name from cursor where name like 'row%' order by name")
    await db.close()
    return found.map(({ name }) => name)
  }
  await rows()
  inOtherProcess(writing(3, `process.kill(process.pid, 'SIGKILL')`), directory)
  const before = readFileSync(path('sterna.db-wal'))
  renameSync(path('sterna.db'), path('aside.db'))
  writeFileSync(path('sterna.db'), database)
  const all = look(directory)
  await expect(rows()).rejects.toThrow(/is not the file that .*sterna\.db-wal belongs to.* sterna restore BACKUP/)
  expect(look(directory)).toEqual(all)
  expect(readFileSync(path('sterna.db-wal')).equals(before)).toBe(true)
  renameSync(path('aside.db'), path('sterna.db'))
  expect(await rows()).toEqual(['row 3'])
  // Without a WAL, and with one that came along, it is whoever's database it is.
  writeFileSync(path('other.db'), database)
  renameSync(path('other.db'), path('sterna.db'))
  expect(await rows()).toEqual(['row 1'])
  inOtherProcess(writing(3, `process.kill(process.pid, 'SIGKILL')`), directory)
  const copy = testDirectory()
  cpSync(directory, copy, { recursive: true })
  const { db: copied } = await openDatabase({ directory: copy })
  expect(await copied.read("select name from cursor where name like 'row%'")).toHaveLength(2)
  await copied.close()
})

test('a full disk keeps a database from becoming the current one, but not the current one from being started', async () => {
  const directory = testDirectory()
  await (await openDatabase({ directory })).db.close()
  const commit = async (name: string): Promise<unknown> => {
    let fault: unknown = null
    await cutOffBefore(1, async () => {
      try {
        commitTo(directory, join(directory, name), 'another lock')
      } catch (error) {
        fault = error
      }
    })
    return fault
  }
  expect(await commit('sterna.db')).toBeNull()
  expect(await commit('restored-1/sterna.db')).toBeInstanceOf(Error)
  expect(findDatabase(directory).file).toBe(join(directory, 'sterna.db'))
})

test('a database that cannot be looked into is told, not taken for a new one', async () => {
  const directory = testDirectory()
  await (await openDatabase({ directory })).db.close()
  rmSync(join(directory, 'sterna.db'))
  mkdirSync(join(directory, 'sterna.db'))
  await expect(openDatabase({ directory })).rejects.toThrow('cannot be read')
})
