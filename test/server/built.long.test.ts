import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { temporaryDirectory, testDirectory } from '../support/temporary-directory.ts'
import { useParts } from '../support/use-parts.ts'

vi.setConfig({ hookTimeout: 180_000, testTimeout: 180_000 })

const root = resolve(import.meta.dirname, '../..')
const { path: checkout, remove } = temporaryDirectory()
const program = join(checkout, 'bin/sterna.js')
const run = (script: string, ...words: string[]): string =>
  execFileSync(process.execPath, [join(checkout, script), ...words], { cwd: checkout, env: {}, encoding: 'utf8', stdio: 'pipe' })
const version = (): string => run('bin/sterna.js', 'version')
/** What `npm start` does first. */
const buildIfChanged = (): string => run('bin/build-if-changed.js')
const built = (): string => readFileSync(join(checkout, 'dist/server/current.json'), 'utf8')
const directory = (): string => join(checkout, 'dist/server', (JSON.parse(built()) as { directory: string }).directory)

beforeAll(() => {
  for (const name of ['bin', 'config', 'package.json', 'scripts', 'src'])
    cpSync(join(root, name), join(checkout, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
})
afterAll(remove)

test('a server that was not built runs from its sources, with its threads and child processes', () =>
  useParts(testDirectory(), [process.execPath, program]))

test('a server that was built finds its files, and the scripts of its threads and child processes, also after later builds', () => {
  buildIfChanged()
  const buildAgain = (): void => [1, 2].forEach(() => run('scripts/build.ts', '--server'))
  return useParts(testDirectory(), [process.execPath, program], { meanwhile: buildAgain })
})

test('what was built runs until a source changes, and npm start builds it again', () => {
  const answer = version()
  const before = built()
  const old = directory()
  writeFileSync(join(old, 'main.cjs'), "exports.main = async () => (console.log('built'), 0)")
  buildIfChanged()
  expect(built(), 'nothing had changed').toBe(before)
  expect(version()).toBe('built\n')

  utimesSync(join(checkout, 'src/platform/id.ts'), 0, 0)
  expect(version()).toBe(answer)
  buildIfChanged()
  expect(directory()).not.toBe(old)
  writeFileSync(join(directory(), 'main.cjs'), "exports.main = async () => (console.log('built again'), 0)")
  expect(version()).toBe('built again\n')
})

test('without the packages to build with, npm start goes on from the sources', () => {
  rmSync(join(checkout, 'node_modules'))
  rmSync(join(checkout, 'dist'), { recursive: true })
  expect(buildIfChanged()).toBe('')
})
