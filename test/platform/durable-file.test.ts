import fs, { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createFile, makeDirectory, replaceFile, replaceFileLater } from '../../src/platform/durable-file.ts'
import { cutOffBefore } from '../support/cut-off.ts'
import { testDirectory } from '../support/temporary-directory.ts'

test('a file is replaced whole or not at all, wherever that is interrupted', async () => {
  const seen = new Set<string>()
  for (let count = 1, isCutOff = true; isCutOff; count++) {
    const path = join(testDirectory(), 'file')
    writeFileSync(path, 'old')
    isCutOff = (await cutOffBefore(count, async () => replaceFile(path, 'new'))) >= count
    seen.add(readFileSync(path, 'utf8'))
    replaceFile(path, 'newer')
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['newer', 0o600])
  }
  expect([...seen]).toEqual(['old', 'new'])
})

test('a file is replaced while the thread works on; only its owner may read it, and nothing else is left', async () => {
  const directory = testDirectory()
  const path = join(directory, 'file')
  writeFileSync(path, 'old', { mode: 0o644 })
  await replaceFileLater(path, 'new')
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['new', 0o600])
  await expect(replaceFileLater(directory, 'a directory is no file')).rejects.toThrow()
  await expect(replaceFileLater(join(directory, 'none/file'), 'new')).rejects.toThrow(/ENOENT/)
  expect(readdirSync(directory)).toEqual(['file'])
})

const linking = [
  ['that knows second names', false],
  ['that knows none', true],
] as const
test.each(linking)('an existing file is never overwritten, on a file system %s', (_, isWithout) => {
  if (isWithout) {
    const { linkSync } = fs
    fs.linkSync = () => {
      throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' })
    }
    syncBuiltinESMExports()
    onTestFinished(() => {
      fs.linkSync = linkSync
      syncBuiltinESMExports()
    })
  }
  const directory = testDirectory()
  const path = join(directory, 'file')
  expect(createFile(path, 'first')).toBe(true)
  expect(createFile(path, 'second')).toBe(false)
  expect(readFileSync(path, 'utf8')).toBe('first')
  expect(readdirSync(directory)).toEqual(['file'])
})

test('creates a directory with its parents, for its owner alone', () => {
  const directory = testDirectory()
  for (let times = 0; times < 2; times++) makeDirectory(join(directory, 'a', 'b'))
  expect(statSync(join(directory, 'a', 'b')).mode & 0o777).toBe(0o700)
  mkdirSync(join(directory, 'c'), { mode: 0o755 })
  makeDirectory(join(directory, 'c'))
  expect(statSync(join(directory, 'c')).mode & 0o777).toBe(0o755)
})
