import { defineConfig } from 'vitest/config'

const project = (name: string, include: string[], exclude: string[] = [], testTimeout = 20_000) => ({
  test: { name, include, exclude, testTimeout, hookTimeout: 30_000 },
})

export default defineConfig({
  test: {
    projects: [
      project('unit', ['test/**/*.test.ts'], ['test/scenario/**', 'test/peer/**']),
      project('scenario', ['test/scenario/**/*.test.ts']),
      project('peer', ['test/peer/**/*.test.ts'], [], 60_000),
    ],
  },
})
