import { execFileSync } from 'node:child_process'
import { cpSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { temporaryDirectory, testDirectory } from '../support/temporary-directory.ts'
import { useParts } from '../support/use-parts.ts'

vi.setConfig({ hookTimeout: 180_000, testTimeout: 180_000 })

const root = resolve(import.meta.dirname, '../..')
const { path: checkout, remove } = temporaryDirectory()
const program = join(checkout, 'bin/sterna.js')
const version = (): string => execFileSync(process.execPath, [program, 'version'], { env: {}, encoding: 'utf8' })

beforeAll(() => {
  for (const name of ['bin', 'config', 'package.json', 'scripts', 'src'])
    cpSync(join(root, name), join(checkout, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  execFileSync(process.execPath, ['scripts/build.ts'], { cwd: checkout, stdio: 'pipe' })
})
afterAll(remove)

test('a server that was built finds its files, and the scripts of its threads and child processes', () =>
  useParts(testDirectory(), [process.execPath, program]))

test('what was built runs until a source changes', () => {
  const built = version()
  writeFileSync(join(checkout, 'dist/server/main.cjs'), "exports.main = async () => (console.log('built'), 0)")
  expect(version()).toBe('built\n')
  utimesSync(join(checkout, 'src/platform/id.ts'), 0, 0)
  expect(version()).toBe(built)
})
