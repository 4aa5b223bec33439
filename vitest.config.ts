import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

// Threads and child processes of the code under test start with this: each would strip the types of all its modules anew.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/node-compile')

/** Those that take seconds each, so that `npm test` does not take minutes. */
const long = 'test/**/*.long.test.ts'

const setupFiles = ['test/support/each-file.ts']

const project = (name: string, include: string[], more: { exclude?: string[]; isolate?: boolean } = {}) => ({
  test: {
    name,
    include,
    // A test takes seconds; twenty times that on a machine that others keep busy.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000, interval: 10 } },
    isolate: false,
    setupFiles,
    ...more,
  },
})

// Modules do nothing and keep nothing when they are imported, so the files of a worker may share them, `isolate: false`. One
// of the peers records what a module of ours is called with.
export default defineConfig({
  test: {
    // Otherwise one core is left to a watcher.
    maxWorkers: '100%',
    projects: [
      // With the scenarios: workers of a project of their own would read all modules anew.
      project('unit', ['test/**/*.test.ts'], { exclude: ['test/peer/**', 'test/browser/**', long] }),
      project('long', [long]),
      project('browser', ['test/browser/**/*.test.ts']),
      project('peer', ['test/peer/**/*.test.ts'], { isolate: true }),
    ],
  },
})
