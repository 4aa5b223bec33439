import { constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Disk } from '../../scripts/campaign/disk.ts'
import type { FileRecord } from '../../scripts/campaign/file-shim.ts'
import { seededRandom } from '../../scripts/campaign/seeded-random.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const root = '/recorded'

/** A process that does these things below `/recorded`, one after the other. */
class Recorded {
  readonly records: FileRecord[] = []

  #record(record: Partial<FileRecord> & Pick<FileRecord, 'call'>): this {
    this.records.push({ pid: 1, fd: 0, flags: 0, offset: 0, data: Buffer.alloc(0), other: '', end: 0, ...record })
    return this
  }

  open = (fd: number, name: string, flags = constants.O_CREAT): this =>
    this.#record({ call: 'open', fd, flags, data: Buffer.from(join(root, name)) })
  write = (fd: number, offset: number, text: string): this => this.#record({ call: 'write', fd, offset, data: Buffer.from(text) })
  truncate = (fd: number, offset: number): this => this.#record({ call: 'truncate', fd, offset })
  flush = (fd: number): this => this.#record({ call: 'flush', fd })
  rename = (from: string, to: string): this => this.#record({ call: 'rename', data: Buffer.from(join(root, from)), other: join(root, to) })
  unlink = (name: string): this => this.#record({ call: 'unlink', data: Buffer.from(join(root, name)) })
  mkdir = (name: string): this => this.#record({ call: 'mkdir', data: Buffer.from(join(root, name)) })

  /** Flushes a directory. */
  flushNames = (name = ''): this => this.open(99, name, 0).flush(99)

  /** What a file may hold after a power cut, as JSON; null: there is none. */
  leaves(name: string, before: Record<string, string> = {}, ignoresFlush?: (path: string) => boolean): Set<string | null> {
    const directory = testDirectory()
    const begun = join(directory, 'before')
    mkdirSync(begun)
    for (const [file, text] of Object.entries(before)) writeFileSync(join(begun, file), text)
    const disk = new Disk({ root, before: begun }, ignoresFlush)
    for (const record of this.records) disk.apply(record)
    const seen = new Set<string | null>()
    for (let seed = 0; seed < 150; seed++) {
      const state = join(directory, String(seed))
      disk.writeAfterPowerCut(state, seededRandom(seed))
      seen.add(existsSync(join(state, name)) ? readFileSync(join(state, name), 'latin1') : null)
    }
    return seen
  }
}

const recorded = (): Recorded => new Recorded()

test('what was flushed, file and name, is there', () => {
  expect(recorded().open(3, 'a').write(3, 0, 'one').write(3, 3, 'two').flush(3).flushNames().leaves('a')).toEqual(new Set(['onetwo']))
})

test('what was not flushed may be missing, and a later write may be there without an earlier one', () => {
  const left = recorded().open(3, 'a').flushNames().write(3, 0, 'one').write(3, 3, 'two').leaves('a')
  expect(left).toEqual(new Set(['', 'one', 'onetwo', '\0\0\0two']))
})

test('a flush covers what was written before it, of its own file only', () => {
  const process = recorded().open(3, 'a').open(4, 'b').write(3, 0, 'one').write(4, 0, 'two').flush(3).write(3, 3, 'more').flushNames()
  expect(process.leaves('a')).toEqual(new Set(['one', 'onemore']))
  expect(process.leaves('b')).toEqual(new Set(['', 'two']))
})

test('a large write may be torn at the borders of sectors', () => {
  const left = recorded()
    .open(3, 'a')
    .flushNames()
    .write(3, 0, 'a'.repeat(512) + 'b'.repeat(512))
    .leaves('a')
  expect(left).toContain('a'.repeat(512))
  expect(left).toContain('\0'.repeat(512) + 'b'.repeat(512))
})

test('a truncation that was not flushed may not have happened', () => {
  expect(recorded().open(3, 'a').truncate(3, 2).leaves('a', { a: 'before' })).toEqual(new Set(['before', 'be']))
})

test('a file opened to be written anew may be empty, or hold what it held', () => {
  const left = recorded()
    .open(3, 'a', constants.O_CREAT | constants.O_TRUNC)
    .write(3, 0, 'new')
    .leaves('a', { a: 'before' })
  expect(left).toContain('before')
  expect(left).toContain('')
  expect(left).toContain('new')
})

test('a name is certain only when its directory is flushed', () => {
  expect(recorded().open(3, 'a').write(3, 0, 'x').flush(3).leaves('a')).toEqual(new Set([null, 'x']))
  expect(recorded().unlink('a').leaves('a', { a: 'x' })).toEqual(new Set([null, 'x']))
  expect(recorded().unlink('a').flushNames().leaves('a', { a: 'x' })).toEqual(new Set([null]))
})

test('a file renamed into place without a flush may be empty there', () => {
  const left = recorded().open(3, 'new').write(3, 0, 'new').rename('new', 'a').leaves('a', { a: 'old' })
  expect(left).toEqual(new Set(['old', '', 'new']))
})

test('a file flushed and renamed into place is the old one or the new one, and the new one once the directory is flushed', () => {
  const process = recorded().open(3, 'new').write(3, 0, 'new').flush(3).rename('new', 'a')
  expect(process.leaves('a', { a: 'old' })).toEqual(new Set(['old', 'new']))
  expect(process.flushNames().leaves('a', { a: 'old' })).toEqual(new Set(['new']))
})

test('changes of directories are kept in order', () => {
  const process = recorded().open(3, 'a').flush(3).open(4, 'b').flush(4)
  const directory = testDirectory()
  mkdirSync(join(directory, 'before'))
  const disk = new Disk({ root, before: join(directory, 'before') })
  for (const record of process.records) disk.apply(record)
  for (let seed = 0; seed < 100; seed++) {
    disk.writeAfterPowerCut(join(directory, String(seed)), seededRandom(seed))
    if (existsSync(join(directory, String(seed), 'b'))) expect(existsSync(join(directory, String(seed), 'a'))).toBe(true)
  }
})

test('what lies in a new directory is lost with the name of that directory', () => {
  const process = recorded().mkdir('d').open(3, 'd/a').write(3, 0, 'x').flush(3).flushNames('d')
  expect(process.leaves('d/a')).toEqual(new Set([null, 'x']))
  expect(process.flushNames().leaves('d/a')).toEqual(new Set(['x']))
})

test('a file goes on when its name does not', () => {
  const process = recorded().open(3, 'a').write(3, 0, 'x').flushNames().unlink('a').write(3, 1, 'y').flush(3)
  expect(process.leaves('a')).toEqual(new Set([null, 'xy']))
})

test('a flush that is left out promises nothing', () => {
  const process = recorded().open(3, 'a-wal').flushNames().write(3, 0, 'x').flush(3)
  expect(process.leaves('a-wal', {}, (path) => path.endsWith('-wal'))).toEqual(new Set(['', 'x']))
})
