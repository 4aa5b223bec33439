import { execFileSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { spawnServer, untilReady } from '../support/spawned-server.ts'
import { sternaCommand } from '../support/sterna-command.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

test('what the log of the first start holds lets nobody in once there is a key for real mail', async () => {
  const directory = temporaryDirectory()
  onTestFinished(directory.remove)
  const [program, ...words] = sternaCommand
  const sterna = (...argv: string[]): string =>
    execFileSync(program, [...words, ...argv], { cwd: directory.path, env: { STERNA_DATA_DIR: directory.path } }).toString()
  const start = async () => {
    const server = await spawnServer(directory.path)
    await untilReady(server)
    const link = /http\S+\/setup\/([\w-]+)/.exec(server.stdout())?.[1]
    const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await fetch(`http://127.0.0.1:${server.httpPort}${path}`, { headers })).status
    const stop = async (): Promise<void> => {
      server.child.kill()
      await server.ended
    }
    return { ...server, link, status, stop }
  }

  const first = await start()
  const authorization = `Bearer ${/sterna_test_\w{49}/.exec(first.stdout())?.[0]}`
  expect(await first.status('/api/emails', { authorization })).toBe(200)
  // Other sandbox keys change nothing about it.
  sterna('key', 'create', '--account', 'default', '--sandbox')
  expect(await first.status('/api/emails', { authorization })).toBe(200)
  await first.stop()

  const second = await start()
  expect(second.stdout()).not.toMatch(/sterna_(?:test|live)_/)
  expect([second.link === first.link, await second.status(`/setup/${first.link}`), await second.status(`/setup/${second.link}`)]).toEqual([
    false,
    404,
    200,
  ])
  const live = sterna('key', 'create', '--account', 'default').trim()
  expect(await second.status('/api/emails', { authorization })).toBe(401)
  expect(await second.status('/api/emails', { authorization: `Bearer ${live}` })).toBe(200)
  await second.stop()

  const third = await start()
  expect(third.link).toBeUndefined()
  expect(await third.status(`/setup/${second.link}`)).toBe(404)
  expect(third.stdout()).toContain('user invite YOUR-ADDRESS --account default --role owner --operator')
  expect(await third.status('/api/emails', { authorization })).toBe(401)
})
