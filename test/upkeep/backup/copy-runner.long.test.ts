import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import Sqlite from 'better-sqlite3'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { CopyRunner, type CopyStatus } from '../../../src/upkeep/backup/copy-runner.ts'
import { openTarget } from '../../../src/upkeep/backup/open-target.ts'
import { restoreCopy } from '../../../src/upkeep/backup/restore-copy.ts'
import type { Target } from '../../../src/upkeep/backup/target.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import type { StoreFiles } from '../../../src/platform/store/store.ts'
import { LogSource } from '../../../src/platform/store/file-copies.ts'
import { openDatabase } from '../../../src/platform/store/sqlite/sqlite-database.ts'
import { testS3 } from '../../support/test-s3.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

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
  files: StoreFiles
  runner: CopyRunner
  /** What it last told. */
  status(): CopyStatus
  add(name: string): Promise<unknown>
  /** A step, once it is over and the snapshot that it may have begun is. */
  copy(): Promise<boolean>
  close(): Promise<void>
}

/** A database with a copy, as a server opens it; each step is a second later. */
async function open({ directory = 'data', origin = '0000000a', maxBytes = 1e9 } = {}): Promise<Copied> {
  const dataDir = join(place, directory)
  const { db, files } = await openDatabase({ directory: dataDir, copyLimit: maxBytes, onFatal: (error) => Promise.reject(error) })
  let closed: Promise<void> | undefined
  const close = () => (closed ??= db.close())
  onTestFinished(close)
  let last: CopyStatus = { problem: null, behindMs: 0, storedBytes: 0, event: null }
  const services = {
    target,
    ...files.copying,
    source: new LogSource(files.copying.log),
    tell: (status: CopyStatus) => void (last = status),
    now: () => now,
  }
  const settings = { dataDir, origin, recipients: [], snapshotEveryMs: 3_600_000, keepMs: 7_200_000 }
  const runner = new CopyRunner(services, settings)
  const step = () => ((now += 1_000), runner.step())
  return {
    db,
    files,
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
  const { files, add, copy } = await open()
  await copy()
  for (let i = 0; i < 30; i++) {
    await add(`n${String(i).padStart(2, '0')}`)
    if (i % 3 === 0) expect(await files.upkeep.emptyLog()).toBe(true)
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
  const { db: command } = await openDatabase({ directory: join(place, 'data') })
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
  const { files, add, copy, status } = await open()
  await copy()
  renameSync(join(place, 'copies'), join(place, 'aside'))
  writeFileSync(join(place, 'copies'), 'in the way')
  for (let i = 0; i < 15; i++) {
    await add(`n${String(i).padStart(2, '0')}`)
    await files.upkeep.emptyLog()
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
  const { files, add, copy, status } = await open({ maxBytes: 100_000 })
  await copy()
  renameSync(join(place, 'copies'), join(place, 'aside'))
  for (let i = 0; i < 40; i++) {
    await add(`n${String(i).padStart(2, '0')}`)
    await files.upkeep.emptyLog()
  }
  await copy()
  expect(() => readdirSync(join(place, 'data/copying'))).toThrow('ENOENT')
  expect(existsSync(join(place, 'copies'))).toBe(false)
  renameSync(join(place, 'aside'), join(place, 'copies'))
  // Once to see that the chain is over, and once to begin another.
  await copy()
  expect(status().problem).toMatch(/starts again with the whole database: the target was away for too long/)
  await copy()
  expect(status()).toMatchObject({ problem: null, behindMs: 0 })
  expect(await restored()).toHaveLength(40)
  expect(generations()).toBe(2)
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

describe('a target that is not the one from before', () => {
  const at = (name: string): string => join(place, name)
  /** Another directory in the place of the target, as a mount or its absence makes it. */
  const putInPlace = (name: string, as: string): void => {
    renameSync(at('copies'), at(as))
    renameSync(at(name), at('copies'))
  }
  const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `n${String(i).padStart(2, '0')}`)
  /** Adds some more, each of which is copied, or not. */
  async function addEach({ add, copy }: Copied, [from, to]: [number, number], isCopied: boolean): Promise<void> {
    for (const name of names(to).slice(from)) {
      await add(name)
      expect(await copy()).toBe(isCopied)
    }
  }
  beforeEach(() => mkdirSync(at('empty')))

  test('an empty directory in place of the mount gets nothing, and the copy goes on without a gap', async () => {
    const copied = await open()
    await copied.copy()
    await addEach(copied, [0, 3], true)
    putInPlace('empty', 'aside')
    await addEach(copied, [3, 9], false)
    await copied.files.upkeep.emptyLog()
    expect(copied.status().behindMs).toBeGreaterThanOrEqual(6_000)
    await addEach(copied, [9, 15], false)
    expect(copied.status().problem).toMatch(
      /is not the place where copies were stored before: .* is missing.*If it is to be mounted, mount it/,
    )
    expect(readdirSync(at('copies'))).toEqual([])
    putInPlace('aside', 'empty')
    await addEach(copied, [15, 16], true)
    expect(copied.status()).toMatchObject({ problem: null, behindMs: 0 })
    expect(generations()).toBe(1)
    expect(await restored()).toEqual(names(16))
  })

  test('nothing is committed while it is away: that it is away is told all the same', async () => {
    const { copy, status } = await open()
    await copy()
    putInPlace('empty', 'aside')
    for (let i = 0; i < 45; i++) await copy()
    expect(status()).toMatchObject({ problem: expect.stringMatching(/is missing/) })
    expect(status().behindMs).toBeGreaterThan(10_000)
  })

  test('a server that starts while it is away stores nothing, until somebody says that it is new', async () => {
    const first = await open()
    await addEach(first, [0, 2], true)
    await first.close()
    putInPlace('empty', 'aside')
    const second = await open()
    await addEach(second, [2, 4], false)
    expect(readdirSync(at('copies'))).toEqual([])
    rmSync(at('data/backup-target.json'))
    await second.copy()
    expect(await restored()).toEqual(names(4))
  })

  test('another target in its place gets a copy that is whole, and so does the first one when it is back', async () => {
    const copied = await open()
    await copied.copy()
    await addEach(copied, [0, 3], true)
    writeFileSync(at('empty/sterna-target.json'), '{"id":"another"}')
    putInPlace('empty', 'aside')
    await copied.add('n03')
    // It is seen, told, and made good.
    for (let i = 0; i < 3; i++) await copied.copy()
    expect(copied.status()).toMatchObject({ problem: null, behindMs: 0 })
    await addEach(copied, [4, 6], true)
    expect(await restored()).toEqual(names(6))
    putInPlace('aside', 'empty')
    expect(await restored()).toEqual(names(3))
    await copied.add('n06')
    for (let i = 0; i < 3; i++) await copied.copy()
    await addEach(copied, [7, 9], true)
    expect(await restored()).toEqual(names(9))
  })

  test('an earlier state of it in its place is completed, or gets a copy that is whole', async () => {
    const copied = await open()
    await copied.copy()
    await addEach(copied, [0, 3], true)
    rmSync(at('empty'), { recursive: true })
    cpSync(at('copies'), at('empty'), { recursive: true })
    await addEach(copied, [3, 6], true)
    await copied.files.upkeep.emptyLog()
    putInPlace('empty', 'aside')
    await copied.add('n06')
    expect(await copied.copy()).toBe(false)
    expect(await copied.copy()).toBe(false)
    expect(copied.status().problem).toMatch(/starts again with the whole database: the target lacks what was stored there/)
    await addEach(copied, [7, 9], true)
    expect(await restored()).toEqual(names(9))
    expect(generations()).toBe(2)
  })

  test('a part that somebody removed is noticed within an hour, and the whole database is stored again', async () => {
    const copied = await open()
    await copied.copy()
    await addEach(copied, [0, 4], true)
    rmSync(at(join('copies', segments()[1] as string)))
    await addEach(copied, [4, 5], true)
    await expect(restored()).rejects.toThrow(/is missing/)
    now += 3_600_000
    for (let i = 0; i < 4; i++) await copied.copy()
    expect(await restored()).toEqual(names(5))
    expect(copied.status()).toMatchObject({ problem: null, behindMs: 0 })
  })

  test('a server in which nothing happened for longer than the copy is kept goes on without a gap', async () => {
    const first = await open()
    await addEach(first, [0, 2], true)
    for (let hour = 0; hour < 5; hour++) {
      now += 3_600_000
      for (let i = 0; i < 3; i++) await first.copy()
    }
    await first.close()
    const second = await open()
    await addEach(second, [2, 4], true)
    expect(await restored()).toEqual(names(4))
    expect(generations()).toBe(1)
  })
})

test('in S3, another bucket in place of the target for a while leaves no gap', async () => {
  const settings = await testS3()
  const s3 = {
    endpoint: settings['STERNA_BACKUP_S3_ENDPOINT'] as string,
    region: 'x',
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
  }
  const [usual, empty, marked] = ['usual', 'empty', 'marked'].map((name) => openTarget(`s3://copies/${name}`, s3, '/')) as Target[]
  await (marked as Target).put('sterna-target.json', Readable.from([Buffer.from('{"id":"another"}')]))
  // The same name leads to one and to another.
  let reached = usual as Target
  target = new Proxy(reached, {
    get: (_, key) => {
      if (key === 'place' || key === 'label') return 's3://copies/usual'
      const member = Reflect.get(reached, key) as unknown
      return typeof member === 'function' ? (member.bind(reached) as unknown) : member
    },
  })
  const { add, copy, status } = await open()
  const count = async (): Promise<number> => (await restored()).length
  for (const name of ['a', 'b']) await add(name).then(copy)
  reached = empty as Target
  for (const name of ['c', 'd']) expect(await add(name).then(copy)).toBe(false)
  expect(await reached.list('')).toEqual([])
  reached = usual as Target
  expect(await add('e').then(copy)).toBe(true)
  expect(await count()).toBe(5)
  reached = marked as Target
  for (const name of ['f', 'g', 'h']) await add(name).then(copy)
  expect(status()).toMatchObject({ problem: null, behindMs: 0 })
  expect(await count()).toBe(8)
  reached = usual as Target
  for (const name of ['i', 'j', 'k']) await add(name).then(copy)
  expect(await count()).toBe(11)
})
