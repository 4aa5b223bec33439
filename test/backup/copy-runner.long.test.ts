import { appendFileSync, cpSync, readFileSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { CopyRunner, type CopyStatus } from '../../src/backup/copy-runner.ts'
import { openTarget } from '../../src/backup/open-target.ts'
import { restoreCopy } from '../../src/backup/restore-copy.ts'
import type { Target } from '../../src/backup/target.ts'
import type { Database } from '../../src/store/database.ts'
import { SecuredPosition } from '../../src/store/log-spool.ts'
import { openDatabase } from '../../src/store/sqlite-database.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const none = { endpoint: null, region: 'x', accessKeyId: null, secretAccessKey: null }
let place: string
let target: Target
let now: number
beforeEach(() => {
  place = testDirectory()
  target = openTarget('copies', none, place)
  now = Date.parse('2026-11-23T10:00:00Z')
})
const inCopies = (): string[] =>
  readdirSync(join(place, 'copies'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('.zst'))
    .sort()
const segments = (): string[] => inCopies().filter((name) => !name.includes('snapshot'))
const generations = (): number => new Set(inCopies().map((name) => name.split('/')[2])).size

interface Copied {
  db: Database
  runner: CopyRunner
  /** What it last told. */
  status(): CopyStatus
  add(name: string): Promise<unknown>
  /** A step, once it is over and the snapshot that it may have begun is. */
  copy(): Promise<boolean>
  close(): Promise<void>
}

/** A database with a copy, as a server opens it; each step is a second later. */
async function open({ directory = 'data', origin = '0000000a', mostBytes = 1e9 } = {}): Promise<Copied> {
  const dataDir = join(place, directory)
  const sheet = SecuredPosition.sheet()
  const db = await openDatabase({ directory: dataDir, copying: { sheet, mostBytes }, onFatal: (error) => Promise.reject(error) })
  let closed: Promise<void> | undefined
  const close = () => (closed ??= db.close())
  onTestFinished(close)
  let last: CopyStatus = { problem: null, behindMs: 0, storedBytes: 0, event: null }
  const services = {
    target,
    secured: new SecuredPosition(sheet),
    begin: (generation: string) => db.copying.begin(generation),
    snapshot: (file: string) => db.copying.snapshot(file),
    tell: (status: CopyStatus) => void (last = status),
    now: () => now,
  }
  const settings = { dataDir, database: join(dataDir, 'sterna.db'), origin, recipients: [], snapshotEveryMs: 3_600_000, keepMs: 7_200_000 }
  const runner = new CopyRunner(services, settings)
  const step = () => ((now += 1_000), runner.step())
  return {
    db,
    runner,
    status: () => last,
    add: (name) =>
      db.write([
        { sql: "insert into account (id, name, plan, status, created_at) values (:name, :name, 'free', 'active', 0)", params: { name } },
      ]),
    async copy() {
      const isDone = await step()
      // A snapshot counts once a step that began after it was made is over.
      while (runner.isStoringSnapshot) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        await step()
      }
      return isDone
    },
    close,
  }
}

async function restored(at: number | null = null, origin?: string): Promise<string[]> {
  const file = join(place, `restored-${Math.random()}.db`)
  await restoreCopy(target, { at, origin }, file, [])
  const database = new Sqlite(file)
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    return database.prepare("select name from account where plan = 'free' order by name").pluck().all() as string[]
  } finally {
    database.close()
  }
}

const refusal = (at: number | null = null): Promise<string> => restored(at).then(String, (error: Error) => error.message)

test('everything that was committed is there, at the newest point and at each one before', async () => {
  const { add, copy } = await open()
  await add('a')
  await copy()
  const times: number[] = []
  for (const name of ['b', 'c', 'd']) {
    await add(name)
    await copy()
    times.push(now)
  }
  expect(await restored()).toEqual(['a', 'b', 'c', 'd'])
  expect(await restored(times[1])).toEqual(['a', 'b', 'c'])
  expect(await restored(times[0])).toEqual(['a', 'b'])
  expect(await refusal(Date.parse('2026-11-23T09:00:00Z'))).toMatch(/has no whole copy .* at 2026-11-23T09:00:00.000Z\. The earliest is /)
})

test('what is committed while the log is emptied again and again is there, too', async () => {
  const { db, add, copy } = await open()
  await copy()
  for (let i = 0; i < 30; i++) {
    await add(`n${String(i).padStart(2, '0')}`)
    if (i % 3 === 0) expect(await db.upkeep.emptyLog()).toBe(true)
    if (i % 7 === 0) await copy()
  }
  await copy()
  expect(await restored()).toHaveLength(30)
  expect(generations()).toBe(1)
  // What was copied does not stay in the data directory.
  expect(readdirSync(join(place, 'data/copying')).length).toBeLessThan(5)
})

test('after a clean stop, the same generation goes on', async () => {
  const first = await open()
  await first.add('a')
  await first.copy()
  await first.add('b')
  await first.close()
  const second = await open()
  await second.add('c')
  await second.copy()
  expect(await restored()).toEqual(['a', 'b', 'c'])
  expect(generations()).toBe(1)
})

test('after a start without a copy, as a command does, or a change by another program, a new generation begins', async () => {
  const first = await open()
  await first.add('a')
  await first.copy()
  await first.close()
  const command = await openDatabase({ directory: join(place, 'data') })
  await command.close()
  const second = await open()
  await second.copy()
  expect(generations()).toBe(2)
  await second.close()
  const shell = new Sqlite(join(place, 'data/sterna.db'))
  shell.exec("insert into account (id, name, plan, status, created_at) values ('s', 's', 'free', 'active', 0)")
  shell.close()
  const third = await open()
  await third.copy()
  expect(generations()).toBe(3)
  expect(await restored()).toEqual(['a', 's'])
})

test('while the target is away, commits wait for it, and it is told after a while', async () => {
  const { db, add, copy, status } = await open()
  await copy()
  renameSync(join(place, 'copies'), join(place, 'aside'))
  writeFileSync(join(place, 'copies'), 'in the way')
  for (let i = 0; i < 15; i++) {
    await add(`n${String(i).padStart(2, '0')}`)
    await db.upkeep.emptyLog()
    expect(await copy()).toBe(false)
  }
  expect(status()).toMatchObject({ problem: expect.stringMatching(/cannot be (?:written|read)/), behindMs: expect.any(Number) })
  expect(status().behindMs).toBeGreaterThanOrEqual(15_000)
  rmSync(join(place, 'copies'))
  renameSync(join(place, 'aside'), join(place, 'copies'))
  expect(await copy()).toBe(true)
  expect(status()).toMatchObject({ problem: null, behindMs: 0 })
  expect(await restored()).toHaveLength(15)
  expect(generations()).toBe(1)
})

test('while the target is away for too long, no more waits than the limit, and a new generation begins once it is back', async () => {
  const { db, add, copy } = await open({ mostBytes: 100_000 })
  await copy()
  rmSync(join(place, 'copies'), { recursive: true })
  writeFileSync(join(place, 'copies'), 'in the way')
  for (let i = 0; i < 40; i++) {
    await add(`n${String(i).padStart(2, '0')}`)
    await db.upkeep.emptyLog()
  }
  await copy()
  expect(() => readdirSync(join(place, 'data/copying'))).toThrow('ENOENT')
  rmSync(join(place, 'copies'))
  await copy()
  await copy()
  expect(await restored()).toHaveLength(40)
})

test('a second server that copies there is told, and does not disturb the first', async () => {
  const first = await open()
  await first.add('a')
  await first.copy()
  const second = await open({ directory: 'other', origin: '0000000b' })
  await second.add('b')
  for (let i = 0; i < 12; i++) expect(await second.copy()).toBe(false)
  expect(second.status().problem).toMatch(/^Another server copies to .*\(0000000a\), last at .*Give each server a place of its own/)
  expect(await restored()).toEqual(['a'])
  // Once the first is gone for good, it goes on.
  now += 200_000
  await second.copy()
  await second.copy()
  expect(await refusal()).toMatch(/holds the copies of 2 data directories\. Say which: --origin 0000000a or --origin 0000000b\.$/)
  expect(await restored(null, '0000000b')).toEqual(['b'])
})

test('a copy of a running data directory takes over, and the first one is told', async () => {
  const first = await open()
  await first.copy()
  const second = await open({ directory: 'clone' })
  await second.copy()
  now += 31_000
  await first.copy()
  now += 11_000
  await second.runner.step()
  await first.copy()
  expect(first.status().problem).toMatch(/^Another server copies to /)
})

describe('a segment that is not as it was stored', () => {
  const path = (name: string): string => join(place, 'copies', name)
  beforeEach(async () => {
    const { add, copy } = await open()
    await copy()
    for (const name of ['a', 'b', 'c', 'd']) {
      await add(name)
      await copy()
    }
  })

  test.each([
    ['damaged', (file: string) => writeFileSync(file, Buffer.from(readFileSync(file)).fill(7, 50, 60))],
    ['cut off', (file: string) => truncateSync(file, 100)],
    ['swapped with another', (file: string) => cpSync(path(segments()[1] as string), file)],
    ['longer than it was', (file: string) => appendFileSync(file, readFileSync(path(segments()[1] as string)))],
    ['missing', (file: string) => rmSync(file)],
  ])('%s is refused, and what came before can be restored', async (_, spoil) => {
    spoil(path(segments().at(-2) as string))
    const message = await refusal()
    expect(message).toMatch(/^The copy cannot be restored: .* What came before can be restored: --at 2026-\S+Z$/)
    expect(await restored(Date.parse(message.split('--at ')[1] as string))).toEqual(['a', 'b'])
  })
})

test('old snapshots and segments go, and every point within the time that is kept stays', async () => {
  const { add, copy } = await open()
  for (let hour = 0; hour < 6; hour++) {
    await add(`h${hour}`)
    await copy()
    await copy()
    now += 3_600_000
  }
  await copy()
  const names = inCopies()
  expect(names.filter((name) => name.includes('snapshot')).length).toBeLessThan(5)
  expect(names[0]).not.toContain('/0000000001-')
  expect(await restored()).toEqual(['h0', 'h1', 'h2', 'h3', 'h4', 'h5'])
  expect((await restored(now - 2 * 3_600_000)).length).toBeGreaterThan(2)
})
