import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** True where the tests run on PostgreSQL instead of SQLite: see vitest.config.ts. */
export const isOnPostgres = process.env['STERNA_TEST_DATABASE'] === 'postgresql'

/**
 * What is about the files of SQLite, and left out where the tests run on PostgreSQL: `tests` of a file, or all of it. Nothing else may be left
 * out there: what fails is a fault of the product, or of the test.
 */
export const aboutFiles: { file: string; tests?: string[]; why: string }[] = [
  {
    file: 'test/server/relay/relay.test.ts',
    tests: ['the jobs of every minute scan no table'],
    why: 'the plans of SQLite',
  },
  {
    file: 'test/mail/event/event-feed.test.ts',
    tests: ["following the log uses the account's index, however much others send"],
    why: 'a plan of SQLite',
  },
  { file: 'test/mail-out/queue/queue-plans.test.ts', why: 'the plans of SQLite' },
  { file: 'test/readers/search/list-plans.long.test.ts', why: 'the plans of SQLite' },
  { file: 'test/scenario/damaged-pages.long.test.ts', why: 'damaged pages of a file' },
  {
    file: 'test/scenario/data-directory.long.test.ts',
    tests: [
      'mail is refused for a while, and /healthz says so, while what is written would have no place on the disk',
      '/healthz is not ok while nothing can be written, and ok again by itself',
    ],
    why: 'the file of the database is moved away, or locked',
  },
  {
    file: 'test/scenario/metrics.long.test.ts',
    tests: ['the file of the database and the room on its disk are measured'],
    why: 'the size of a file',
  },
  { file: 'test/scenario/locked-database.long.test.ts', why: 'another process locks the file' },
  { file: 'test/scenario/restored-queue.long.test.ts', why: 'a file that was restored or copied' },
  { file: 'test/scenario/upgrade.long.test.ts', why: 'files of earlier schemas, and their backups' },
  { file: 'test/scenario/own-parts.long.test.ts', why: 'uses all parts of a server, its backup among them' },
  { file: 'test/server/built.long.test.ts', why: 'uses all parts of a server, its backup among them' },
  { file: 'test/scenario/key-rotation.long.test.ts', why: 'restores a backup' },
  {
    file: 'test/scenario/erasure.long.test.ts',
    tests: ['what retention has removed can be read nowhere, and the file gets smaller'],
    why: 'the size of a file',
  },
]

const root = join(import.meta.dirname, '../..')

/** True for a test that is left out on PostgreSQL. @param file from the root */
export const isAboutFiles = (file: string, name: string): boolean =>
  aboutFiles.some((entry) => entry.file === file && entry.tests?.includes(name))

/** The test files that run on PostgreSQL: those that have a database. What has none would do the same again. */
export function testsWithDatabase(): string[] {
  const whole = new Set(aboutFiles.flatMap(({ file, tests }) => (tests ? [] : [file])))
  return globSync('test/**/*.test.ts', { cwd: root }).filter((file) => !whole.has(file) && hasDatabase(file))
}

/** True if the imports of a test file lead, within `test`, to what lends databases. @param file from the root */
export const hasDatabase = (file: string): boolean => importsOf(join(root, file)).has(join(import.meta.dirname, 'postgres-databases.ts'))

const known = new Map<string, string[]>()

function importsOf(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  for (const path of directImports(file)) importsOf(path, found)
  return found
}

function directImports(file: string): string[] {
  const paths =
    known.get(file) ??
    Array.from(readFileSync(file, 'utf8').matchAll(/from '(\.[^']+\.ts)'/g), ([, path = '']) => join(dirname(file), path))
  known.set(file, paths)
  return paths.filter((path) => path.startsWith(join(root, 'test')))
}
