import { existsSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { bundledThreads } from './test/support/bundled-threads.ts'
import { testsWithDatabase } from './test/support/tests-on-postgres.ts'

// Threads and child processes of the code under test start with this: each would strip the types of all its modules anew.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/node-compile')

/** Each commit waits for its flush, so the databases of tests are in memory where there is plenty of it. */
function inMemory(): { TMPDIR?: string } {
  const directory = '/dev/shm'
  if (!existsSync(directory)) return {}
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize > 4 * 1024 ** 3 ? { TMPDIR: directory } : {}
}

const env = inMemory()

// `vitest` that stays and watches has threads of the sources as they are by then.
const plugins = process.argv.includes('run') ? [await bundledThreads()] : []

/** Those that take seconds each, so that `npm test` does not take minutes. */
const long = 'test/**/*.long.test.ts'

/** With `STERNA_TEST_DATABASE=postgresql`, tests have their databases on a server of PostgreSQL, and those that have none do not run. */
const engine = process.env['STERNA_TEST_DATABASE'] || 'sqlite'
if (engine !== 'sqlite' && engine !== 'postgresql') throw new Error(`STERNA_TEST_DATABASE is ${engine}: it may be sqlite or postgresql`)
const onPostgres = engine === 'postgresql' ? testsWithDatabase() : null
const globalSetup = onPostgres ? ['test/support/postgres-of-run.ts'] : []

const setupFiles = ['test/support/each-file.ts']

const project = (name: string, include: string[], more: { exclude?: string[]; isolate?: boolean; env?: object } = {}) => ({
  plugins,
  test: {
    name,
    include,
    // A test takes seconds; twenty times that on a machine that others keep busy.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000, interval: 10 } },
    isolate: false,
    setupFiles,
    globalSetup,
    env,
    ...more,
  },
})

// Modules do nothing and keep nothing when they are imported, so the files of a worker may share them, `isolate: false`. One
// of the peers records what a module of ours is called with.
export default defineConfig({
  test: {
    // Tests wait a good part of their time; a worker more keeps the cores busy.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    projects: [
      // With the scenarios: workers of a project of their own would read all modules anew.
      project('unit', onPostgres ?? ['test/**/*.test.ts'], { exclude: ['test/peer/**', 'test/browser/**', long] }),
      project('long', onPostgres?.filter((file) => file.endsWith('.long.test.ts')) ?? [long]),
      project('browser', ['test/browser/**/*.test.ts']),
      // Other programs, some of them run by users of their own, have theirs on the disk.
      project('peer', ['test/peer/**/*.test.ts'], { isolate: true, env: {} }),
    ],
  },
})
