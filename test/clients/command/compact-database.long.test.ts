import { spawn } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { compactDatabase } from '../../../src/clients/command/compact-database.ts'
import { compact } from '../../../src/platform/store/sqlite/compact.ts'
import { migrate } from '../../../src/platform/store/sqlite/migrate.ts'
import { databaseFile } from '../../../src/platform/store/sqlite/data-directory.ts'
import { holdDirectory } from '../../../src/platform/store/sqlite/hold-directory.ts'
import { openDatabase } from '../../../src/platform/store/sqlite/sqlite-database.ts'
import { inOtherProcess } from '../../support/other-process.ts'
import { sternaCommand } from '../../support/sterna-command.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

/** A database as versions made it that overwrote nothing: a tenth of its content is there, of the rest what deleting left. */
function oldDatabase(messages: number): { dataDir: string; file: string } {
  const dataDir = testDirectory()
  const file = databaseFile(dataDir)
  const connection = new Sqlite(file)
  for (const pragma of ['journal_mode = wal', 'synchronous = off', 'secure_delete = off', 'auto_vacuum = none']) connection.pragma(pragma)
  migrate(connection)
  connection.transaction(() => {
    const insert = connection.prepare('insert into content (message_id, chunk, bytes) values (?, 0, ?)')
    for (let n = 0; n < messages; n++) insert.run(`em_${n}`, Buffer.alloc(20_000, `words of message ${n}; `))
  })()
  connection.exec(`delete from content where message_id not like '%0'`)
  connection.close()
  return { dataDir, file }
}

const wordsIn = (file: string): Set<string> =>
  new Set(
    readFileSync(file)
      .toString('latin1')
      .match(/words of message \d+;/g),
  )

function rowsIn(file: string): number {
  const connection = new Sqlite(file)
  try {
    expect(connection.pragma('integrity_check', { simple: true })).toBe('ok')
    return connection.prepare<[], number>('select count(*) from content').pluck().get() ?? 0
  } finally {
    connection.close()
  }
}

test('an older database is rewritten: nothing of what was deleted is left, and room is given back from then on', async () => {
  const { dataDir, file } = oldDatabase(500)
  expect(wordsIn(file).size).toBeGreaterThan(400)
  const before = await openDatabase({ directory: dataDir })
  expect(await before.files.upkeep.needsRewriting()).toBe(true)
  await before.db.close()
  const told: string[] = []
  const { stdout, stderr } = compactDatabase({ dataDir, store: { url: null } }, (line) => told.push(line))
  expect(stdout).toBe(`${file}\n`)
  expect(told).toEqual([expect.stringMatching(/about 1 minute, and \d+ MB of disk until it is done; \d+ MB are free/)])
  expect(stderr).toMatch(/^Rewritten: 1\d MB before, [12] MB now/)
  expect([...wordsIn(file)].every((words) => words.endsWith('0;'))).toBe(true)
  expect(rowsIn(file)).toBe(50)
  const after = await openDatabase({ directory: dataDir })
  onTestFinished(() => after.db.close())
  expect(await after.files.upkeep.needsRewriting()).toBe(false)
  expect(readdirSync(dataDir).filter((name) => !/^(?:sterna\.db(?:-wal|-shm)?|lock(?:-journal)?|database\.json)$/.test(name))).toEqual([])
})

test('where there is no room, or a server at work, nothing is changed', () => {
  const { dataDir, file } = oldDatabase(50)
  const bytes = readFileSync(file)
  expect(() => compact(file, () => expect.fail('it has begun'), 1_000_000)).toThrow(
    /requires 70 MB of free disk space next to it; there are 1 MB/,
  )
  const held = holdDirectory(dataDir)
  expect(() => compactDatabase({ dataDir, store: { url: null } }, () => {})).toThrow(/in use by another/)
  held.release()
  expect(readFileSync(file).equals(bytes)).toBe(true)
})

test('killed at any moment, it leaves the database as it was or rewritten', async () => {
  const { dataDir, file } = oldDatabase(4_000)
  const [program, ...start] = sternaCommand
  let rewritten = false
  for (let kill = 0; !rewritten; kill++) {
    const child = spawn(program, [...start, 'compact'], {
      env: { ...process.env, STERNA_DATA_DIR: dataDir },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
    const begun = new Promise<void>((resolve) => child.stderr.once('data', () => resolve()))
    await Promise.race([begun, ended])
    // Each time a little later, until it is through.
    await new Promise((resolve) => setTimeout(resolve, kill * kill * 10))
    child.kill('SIGKILL')
    rewritten = (await ended) === 0
    expect(rowsIn(file)).toBe(400)
    expect(existsSync(join(dataDir, 'secret.key'))).toBe(false)
  }
  expect(wordsIn(file).size).toBe(400)
}, 180_000)

test('where the database is gone nothing is rewritten, and the WAL that is left of it stays', async () => {
  const dataDir = testDirectory()
  const script = `
    const { openDatabase } = await source('platform/store/sqlite/sqlite-database.ts')
    const { db } = await openDatabase({ directory: given })
    await db.write([{ sql: "insert into cursor (name, position) values ('last', 1)" }])
    process.kill(process.pid, 'SIGKILL')`
  inOtherProcess(script, dataDir)
  const wal = readFileSync(join(dataDir, 'sterna.db-wal'))
  expect(wal.length).toBeGreaterThan(0)
  writeFileSync(join(dataDir, 'sterna.db'), '')
  expect(() => compactDatabase({ dataDir, store: { url: null } }, () => {})).toThrow('sterna restore BACKUP')
  expect(readFileSync(join(dataDir, 'sterna.db-wal')).equals(wal)).toBe(true)
})
