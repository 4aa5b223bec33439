import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { spawnServer, untilReady } from './spawned-server.ts'

/** bytes; larger requests go to the composer thread */
const largeFile = 300_000

/**
 * Starts a server in a new directory, and has it use its files, its threads and its child processes.
 * @param meanwhile is called when it runs, before it has used them
 */
export async function useParts(
  directory: string,
  command: readonly [program: string, ...words: string[]],
  { meanwhile }: { meanwhile?: () => void } = {},
): Promise<void> {
  const server = await spawnServer(directory, {}, { command })
  await untilReady(server)
  meanwhile?.()
  const url = `http://127.0.0.1:${server.httpPort}`
  for (const path of ['/docs', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/docs/favicon-32x32.png', '/openapi.json']) {
    expect.soft((await fetch(url + path)).status, path).toBe(200)
  }
  const Authorization = `Bearer ${/KEY=(\S+)/.exec(server.stdout())?.[1]}`
  const call = async (path: string, body?: object): Promise<Record<string, any>> => {
    const request = body && { method: 'POST', body: JSON.stringify(body) }
    const answer = await fetch(url + path, { headers: { Authorization, 'Content-Type': 'application/json' }, ...request })
    return (await answer.json()) as Record<string, any>
  }
  const content = Buffer.alloc(largeFile, 'x').toString('base64')
  const mail = { from: 'me@example.com', to: 'delivered@simulator.test', subject: 'Hello', text: 'Hello' }
  const { id } = await call('/api/emails', { ...mail, attachments: [{ filename: 'large.txt', content }] })
  await expect.poll(async () => (await call(`/api/emails/${id}`))['status']).toBe('delivered')
  const { data } = await call(`/api/emails/${id}/attachments`)
  expect(data).toMatchObject([{ filename: 'large.txt', size: largeFile }])

  const [program, ...start] = command
  const place = join(directory, 'backups')
  await promisify(execFile)(program, [...start, 'backup', `${place}/`], { env: { STERNA_DATA_DIR: directory } })
  expect(readdirSync(place).length).toBeGreaterThan(0)
}
