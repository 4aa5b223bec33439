import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { FileUpkeep } from '../../../../src/platform/store/sqlite/file-upkeep.ts'
import { databaseFile } from '../../../../src/platform/store/sqlite/data-directory.ts'
import { openReader, openWriter, type Connection } from '../../../../src/platform/store/sqlite/sqlite-connection.ts'
import { testDirectory } from '../../../support/temporary-directory.ts'

function openFile() {
  const directory = testDirectory()
  const connection = openWriter(directory)
  connection.pragma('synchronous = off')
  connection.exec(
    'create table person (id text primary key, address text, words text, note blob); create index person_address on person (address)',
  )
  const upkeep = new FileUpkeep(connection)
  onTestFinished(() => {
    connection.close()
    upkeep.close()
  })
  const file = databaseFile(directory)
  return {
    connection,
    upkeep,
    file,
    directory,
    bytes: () => readFileSync(file).toString('latin1') + readFileSync(`${file}-wal`).toString('latin1'),
  }
}

/** A small generator, so that what failed once fails again. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/**
 * Rows that come in no order, grow and go, as SQLite moves them about most. Gives the addresses of those that are left, and of those that
 * went.
 */
function live(connection: Connection, random: (below: number) => number, rounds: number) {
  const rows: { id: string; address: string }[] = []
  const gone: string[] = []
  const insert = connection.prepare('insert into person (id, address, words, note) values (?, ?, ?, ?)')
  const grow = connection.prepare('update person set words = ? where id = ?')
  const remove = connection.prepare('delete from person where id = ?')
  for (let round = 0; round < rounds; round++) {
    connection.transaction(() => {
      for (let n = 0; n < 40; n++) {
        const row = { id: `p${random(1e9)}-${round}-${n}`, address: `q${random(1e9)}x${round}x${n}@people.example` }
        insert.run(row.id, row.address, 'x'.repeat(random(100)), random(200) === 0 ? randomBytes(random(20_000)) : null)
        rows.push(row)
      }
      for (let n = 0; n < 30; n++) grow.run('y'.repeat(random(600)), rows[random(rows.length)]!.id)
      for (let n = 0; n < 25; n++) {
        const [row] = rows.splice(random(rows.length), 1)
        remove.run(row!.id)
        gone.push(row!.address)
      }
    })()
  }
  return { rows, gone }
}

function overwriteAll(upkeep: FileUpkeep): void {
  for (let from: number | null = 1; from !== null;) from = upkeep.overwriteUnused(from)
}

const addressesIn = (text: string): Set<string> => new Set(text.match(/q\d+x\d+x\d+@people\.example/g))

test('what was deleted leaves copies in unused bytes, and none once these are overwritten', () => {
  let copies = 0
  for (let seed = 1; seed <= 5; seed++) {
    const { connection, upkeep, bytes } = openFile()
    const { rows, gone } = live(connection, randomNumbers(seed), 150)
    upkeep.emptyLog()
    const before = addressesIn(bytes())
    copies += gone.filter((address) => before.has(address)).length
    overwriteAll(upkeep)
    const after = addressesIn(bytes())
    expect(gone.filter((address) => after.has(address))).toEqual([])
    expect(rows.filter(({ address }) => !after.has(address))).toEqual([])
    expect(connection.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(connection.prepare('select count(*) from person').pluck().get()).toBe(rows.length)
    // What is in the connection's memory must not bring them back.
    connection.exec(`update person set words = words || 'z'`)
    upkeep.emptyLog()
    const later = addressesIn(bytes())
    expect(gone.filter((address) => later.has(address))).toEqual([])
  }
  // Otherwise this test would show nothing.
  expect(copies).toBeGreaterThan(0)
})

test('while rows come and go, overwriting changes none of them', () => {
  const { connection, upkeep } = openFile()
  const random = randomNumbers(7)
  let from: number | null = 1
  const expected = new Map<string, string>()
  for (let round = 0; round < 30; round++) {
    for (const { id, address } of live(connection, random, 3).rows) expected.set(id, address)
    for (let step = 0; step < 3; step++) from = upkeep.overwriteUnused(from ?? 1)
    upkeep.shrink()
  }
  const found = connection.prepare<[], { id: string; address: string }>('select id, address from person').all()
  expect(new Map(found.map(({ id, address }) => [id, address]))).toEqual(expected)
  expect(connection.pragma('integrity_check', { simple: true })).toBe('ok')
})

test('a reader in the log is waited for, not fought with', () => {
  const { connection, upkeep, directory, file } = openFile()
  live(connection, randomNumbers(3), 60)
  const reader = openReader(directory)
  onTestFinished(() => void reader.close())
  reader.exec('begin')
  reader.prepare('select count(*) from person').get()
  connection.exec(`insert into person (id) values ('later')`)
  expect(upkeep.emptyLog()).toBe(false)
  expect(upkeep.overwriteUnused(1)).toBe(1)
  reader.exec('rollback')
  expect(upkeep.emptyLog()).toBe(true)
  expect(statSync(`${file}-wal`).size).toBe(0)
})

test('room that was freed is given back in steps, but for what is written next', () => {
  const { connection, upkeep, file } = openFile()
  connection.transaction(() => {
    for (let n = 0; n < 300; n++) connection.prepare('insert into person (id, note) values (?, ?)').run(`p${n}`, randomBytes(100_000))
  })()
  upkeep.emptyLog()
  const before = statSync(file).size
  connection.exec(`delete from person where id <> 'p0'`)
  let steps = 0
  while (upkeep.shrink()) steps++
  upkeep.emptyLog()
  expect(steps).toBeGreaterThan(1)
  expect(statSync(file).size).toBeLessThan(before / 4)
  expect(connection.pragma('freelist_count', { simple: true })).toBeGreaterThan(0)
  expect(connection.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(upkeep.shrink()).toBe(false)
})

test('pages that became free hold nothing', () => {
  const { connection, upkeep, file } = openFile()
  connection.prepare('insert into person (id, note) values (?, ?)').run('p', Buffer.alloc(500_000, 'words of a message; '))
  upkeep.emptyLog()
  expect(readFileSync(file).includes('words of a message')).toBe(true)
  connection.exec('delete from person')
  upkeep.emptyLog()
  expect(readFileSync(file).includes('words of')).toBe(false)
  expect(statSync(file).size).toBeGreaterThan(400_000)
})
