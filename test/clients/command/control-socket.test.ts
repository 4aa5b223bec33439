import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { askServer, controlSocketPath, serveControlSocket, type CommandRequest } from '../../../src/clients/command/control-socket.ts'
import { silentLog } from '../../../src/platform/log.ts'

const directory = mkdtempSync(join(tmpdir(), 'sterna-control-'))
const path = controlSocketPath(directory)
afterAll(() => rmSync(directory, { recursive: true }))

test('without a server there is no answer, also where a dead one left its socket', async () => {
  expect(await askServer(path, { argv: [], cwd: '/' })).toBeUndefined()
  writeFileSync(path, '')
  expect(await askServer(path, { argv: [], cwd: '/' })).toBeUndefined()
})

test('a command travels to the server and its result back', async () => {
  const long = 'ä'.repeat(300_000)
  const run = async ({ argv, cwd }: CommandRequest) => ({ stdout: `${argv.join(' ')} in ${cwd}`, stderr: long, exitCode: 3 })
  const server = await serveControlSocket(path, run, silentLog)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const [one, two] = await Promise.all([
    askServer(path, { argv: ['key', 'create'], cwd: '/a' }),
    askServer(path, { argv: ['a\nb'], cwd: '/b' }),
  ])
  expect(one).toEqual({ stdout: 'key create in /a', stderr: long, exitCode: 3 })
  expect(two?.stdout).toBe('a\nb in /b')
  await server.close()
  expect(await askServer(path, { argv: [], cwd: '/' })).toBeUndefined()
})

test('what a command tells before its end comes at once and in order, and a client that leaves is noticed', async () => {
  const ended = Promise.withResolvers<void>()
  const server = await serveControlSocket(
    path,
    async ({ argv }, { tell, signal }) => {
      for (const stdout of ['one\n', 'ü'.repeat(300_000), 'three\n']) await tell({ stdout })
      if (argv[0] === 'stay') {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        ended.resolve()
      }
      return { stdout: 'end', stderr: '', exitCode: 0 }
    },
    silentLog,
  )
  const told: (string | undefined)[] = []
  const tell = async ({ stdout }: { stdout?: string }) => void told.push(stdout)
  expect(await askServer(path, { argv: [], cwd: '/' }, { tell })).toEqual({ stdout: 'end', stderr: '', exitCode: 0 })
  expect(told).toEqual(['one\n', 'ü'.repeat(300_000), 'three\n'])
  const leave = async () => {
    throw new Error('enough')
  }
  await expect(askServer(path, { argv: ['stay'], cwd: '/' }, { tell: leave })).rejects.toThrow('enough')
  await ended.promise
  await server.close()
})

test('what is no command is hung up on, and the next one is served', async () => {
  const server = await serveControlSocket(path, async () => ({ stdout: 'ok', stderr: '', exitCode: 0 }), silentLog)
  for (const text of ['nonsense\n', '{"argv":[1],"cwd":"/"}\n', '{"argv":["x"]}\n', 'x'.repeat(33 * 1024 * 1024)]) {
    await new Promise<void>((resolve) => {
      const socket = connect(path, () => socket.write(text))
      socket.on('error', () => {}).on('close', () => resolve())
      socket.resume()
    })
  }
  expect((await askServer(path, { argv: [], cwd: '/' }))?.stdout).toBe('ok')
  await server.close()
})

test('a path that is too long for a socket is told', () => {
  expect(() => controlSocketPath(`/tmp/${'x'.repeat(120)}`)).toThrow(/data_dir is too long/)
})
