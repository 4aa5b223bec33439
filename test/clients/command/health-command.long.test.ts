import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnServer, untilReady } from '../../support/spawned-server.ts'
import { sternaCommand } from '../../support/sterna-command.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const [program, ...start] = sternaCommand

function health(directory: string, ...options: string[]): Promise<{ stdout: string; stderr: string; exitCode: number | null }> {
  const { promise, resolve: done } = Promise.withResolvers<{ stdout: string; stderr: string; exitCode: number | null }>()
  const env = { STERNA_DATA_DIR: directory }
  const child = execFile(program, [...start, 'health', ...options], { env }, (_error, stdout, stderr) =>
    done({ stdout, stderr, exitCode: child.exitCode }),
  )
  return promise
}

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
