import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommandLine } from '../../support/run-commands.ts'
import { spawnServer, untilReady } from '../../support/spawned-server.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const health = (directory: string, ...options: string[]) =>
  runCommandLine(['health', ...options], { cwd: directory, env: { STERNA_DATA_DIR: directory } })

test('follows the server through its life, wherever it listens', { timeout: 90_000 }, async () => {
  const directory = testDirectory()
  expect(await health(directory)).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringMatching(/No server runs on .*\n$/) })

  const server = await spawnServer(directory, { HTTP_LISTEN: 'none' })
  await untilReady(server)
  expect(await health(directory)).toEqual({ stdout: 'ok\n', stderr: '', exitCode: 0 })

  // The server looks for its files every few seconds.
  rmSync(join(directory, 'secret.key'))
  await expect.poll(async () => (await health(directory)).exitCode, { interval: 500 }).toBe(1)
  expect((await health(directory)).stdout).toMatch(/^key_file since \d{4}-.*: The secret key file is missing/)
  expect(JSON.parse((await health(directory, '--json')).stdout)).toMatchObject({ status: 'unavailable', faults: [{ name: 'key_file' }] })

  server.child.kill('SIGSTOP')
  expect(await health(directory)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('has not answered for 4 seconds') })
  server.child.kill('SIGCONT')
})
