import { chmodSync, copyFileSync, cpSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isSameFile, witnessOf } from '../../../src/platform/store/file-witness.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const noted = '71:1700000000000000001:1700000000000000002'

test.each([
  ['with a new time of change', '71:1700000000000000001:1800000000000000000', true],
  ['with a new inode, on a file system that gives it one with each mount', '99:0:1700000000000000002', true],
  ['where the time of birth can no longer be read', '71:0:1800000000000000000', true],
  ['copied: another inode', '99:1700000000000000001:1800000000000000000', false],
  ['copied: the inode by chance, on another disk', '71:1800000000000000000:1800000000000000001', false],
])('a file is told from its copies: %s', (_, now, isSame) => {
  expect(isSameFile(noted, now)).toBe(isSame)
  expect(isSameFile(now, noted)).toBe(isSame)
})

test('where no time of birth is kept, the inode decides', () => {
  expect(isSameFile('71:0:1', '71:0:2')).toBe(true)
  expect(isSameFile('71:0:1', '72:0:2')).toBe(false)
})

test('a real file stays the same whatever is done to it, and no copy of it is', () => {
  const file = join(testDirectory(), 'file')
  expect(witnessOf(file)).toBeNull()
  writeFileSync(file, 'one')
  const before = String(witnessOf(file))
  const { atime, mtime } = statSync(file)
  for (const change of [
    () => writeFileSync(file, 'two'),
    () => chmodSync(file, 0o640),
    () => utimesSync(file, atime, mtime),
    () => [renameSync(file, `${file}.aside`), renameSync(`${file}.aside`, file)],
  ]) {
    change()
    expect(isSameFile(before, String(witnessOf(file)))).toBe(true)
  }
  copyFileSync(file, `${file}.copy`)
  cpSync(file, `${file}.kept`, { preserveTimestamps: true })
  for (const copy of [`${file}.copy`, `${file}.kept`]) expect(isSameFile(before, String(witnessOf(copy)))).toBe(false)
  expect(witnessOf(file)).toBe(witnessOf(file))
})
