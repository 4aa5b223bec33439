import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { sternaCommand } from '../support/sterna-command.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/** A real server that may have so many files open; gives its sandbox key, its HTTP port, and what it logs. */
async function serve(openFiles: number) {
  const directory = temporaryDirectory()
  const port = await freePort()
  const words = ['-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', ...sternaCommand, 'serve']
  const listen = {
    STERNA_HTTP_LISTEN: `127.0.0.1:${port}`,
    STERNA_SUBMISSION_LISTEN: '127.0.0.1:0',
    STERNA_SUBMISSION_TLS_LISTEN: '127.0.0.1:0',
    STERNA_RETURN_PATH_LISTEN: '127.0.0.1:0',
  }
  const child = spawn('sh', words, { cwd: directory.path, env: { PATH: process.env['PATH'], STERNA_DATA_DIR: directory.path, ...listen } })
  let [told, logged] = ['', '']
  child.stdout.on('data', (part: Buffer) => (told += part.toString()))
  child.stderr.on('data', (part: Buffer) => (logged += part.toString()))
  const ended = new Promise<void>((end) => child.once('exit', () => end()))
  onTestFinished(async () => {
    child.kill()
    await ended
    directory.remove()
  })
  const ready = expect.poll(() => told).toMatch(/sterna_test_\w{49}/)
  await Promise.race([ready, ended])
  return {
    child,
    port,
    token: /sterna_test_\w{49}/.exec(told)?.[0] ?? '',
    logged: () => logged,
    filesOpen: () => readdirSync(`/proc/${child.pid}/fd`).length,
  }
}

test.runIf(process.platform === 'linux')(
  '1,200 idle connections at a limit of 1,024 open files: lists are answered and mail goes on',
  async () => {
    const { child, port, token, logged, filesOpen } = await serve(1_024)
    const idle: Socket[] = []
    onTestFinished(() => idle.forEach((socket) => socket.destroy()))
    const open = (socket: Socket): Promise<void> =>
      new Promise((done) =>
        socket
          .on('error', () => done())
          .once('connect', () => done())
          .once('close', () => done()),
      )
    for (let number = 0; number < 1_200; number++)
      idle.push(connect({ host: '127.0.0.1', port, localAddress: `127.0.${1 + (number % 8)}.1` }))
    await Promise.all(idle.map(open))

    const ask = async (path: string, body?: object): Promise<any> => {
      const headers = { authorization: `Bearer ${token}`, connection: 'close', ...(body ? { 'content-type': 'application/json' } : {}) }
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: body ? 'POST' : 'GET',
        headers,
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      expect(response.status, path).toBe(200)
      return response.json()
    }
    expect(await ask('/api/emails')).toMatchObject({ data: [] })
    const { id } = await ask('/api/emails', { from: 'app@sender.example', to: 'delivered@simulator.test', subject: 'Hello', text: 'Hello' })
    await expect.poll(async () => (await ask(`/api/emails/${id}`)).status).toBe('delivered')
    expect(filesOpen()).toBeLessThan(1_024)
    expect(child.exitCode).toBeNull()
    expect(logged()).toMatch(/"level":"warn".*1024 files and sockets may be open, enough for 179 connections over HTTP.*LimitNOFILE=65536/)
  },
)

test.runIf(process.platform === 'linux')('a limit that is too low for anything is told, and the server does not start', async () => {
  const { child, logged } = await serve(200)
  await expect.poll(() => child.exitCode).toBe(1)
  expect(logged()).toMatch(/^sterna: This process may have 200 files and sockets open, but needs at least 256\. Raise/)
})
