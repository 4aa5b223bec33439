import { defineConfig } from 'vitest/config'

const project = (name: string, include: string[], exclude: string[] = [], testTimeout = 20_000) => ({
  test: { name, include, exclude, testTimeout, hookTimeout: 30_000, expect: { poll: { timeout: 10_000 } } },
})

export default defineConfig({
  test: {
    // Otherwise one core is left to a watcher.
    maxWorkers: '100%',
    // Modules do nothing and keep nothing when they are imported, so all files of a worker may share them.
    isolate: false,
    projects: [
      project('unit', ['test/**/*.test.ts'], ['test/scenario/**', 'test/peer/**']),
      project('scenario', ['test/scenario/**/*.test.ts']),
      project('peer', ['test/peer/**/*.test.ts'], [], 60_000),
    ],
  },
})
