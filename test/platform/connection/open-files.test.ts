import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { connectionShares, judgeOpenFiles, openFileLimit } from '../../../src/platform/connection/open-files.ts'

test.each([
  [256, { http: 26, submission: 26, returnPath: 12, delivery: 32, webhooks: 16, nameServers: 8 }],
  [1_024, { http: 179, submission: 179, returnPath: 89, delivery: 224, webhooks: 112, nameServers: 56 }],
  [20_000, { http: 4_718, submission: 4_718, returnPath: 500, delivery: 4_968, webhooks: 2_484, nameServers: 1_242 }],
  [1_048_576, { http: 10_000, submission: 10_000, returnPath: 500, delivery: 262_112, webhooks: 131_056, nameServers: 65_528 }],
])('divides a limit of %i open files, and reserves some for files and threads', (limit, shares) => {
  expect(connectionShares(limit, 1)).toEqual(shares)
  const { http, submission, returnPath, delivery, webhooks, nameServers } = shares
  expect(limit - http - submission - returnPath - delivery - webhooks - 2 * nameServers).toBeGreaterThanOrEqual(126)
})

test('threads share what is for delivery', () => {
  const { delivery, nameServers } = connectionShares(1_024, 4)
  expect({ delivery, nameServers }).toEqual({ delivery: 56, nameServers: 23 })
})

test.each([
  [255, 'failed', /may have 255 files and sockets open, but needs at least 256/],
  [1_024, 'warning', /enough for 179 connections over HTTP, 179 for submission, 89 to the return path, and 224 to other mail servers/],
  [8_192, 'ok', /^8192 files/],
])('describes a limit of %i open files', (limit, status, what) => {
  expect(judgeOpenFiles(limit)).toMatchObject({
    status,
    what: expect.stringMatching(what),
    advice: status === 'ok' ? null : expect.stringContaining('LimitNOFILE=65536'),
  })
})

test.runIf(process.platform === 'linux')('the limit is that of the process', () => {
  const script = `import { openFileLimit } from ${JSON.stringify(new URL('../../../src/platform/connection/open-files.ts', import.meta.url).href)}; console.log(openFileLimit())`
  const words = ['-c', 'ulimit -n 700; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', script]
  expect(execFileSync('sh', words, { encoding: 'utf8' })).toBe('700\n')
  expect(openFileLimit()).toBeGreaterThan(0)
})
