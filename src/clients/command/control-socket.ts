import { createHash } from 'node:crypto'
import { chmodSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join, relative } from 'node:path'
import { once } from 'node:events'
import { SternaError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import type { CommandClient } from './command.ts'

/** The result of a command, for its own process to show. Only a command that ran in that process prints bytes. */
export interface CommandResult<Text extends string | Buffer = string> {
  stdout: Text
  stderr: string
  exitCode: number
}

/** A client's command line, and the directory that its paths are relative to. */
export interface CommandRequest {
  argv: string[]
  cwd: string
  /** What the command read in the client's process. */
  prepared?: unknown
}

/** characters; a set-up comes with its templates */
const maxRequestLength = 32 * 1024 * 1024
/** bytes; fits into a socket address on every system */
const maxPathLength = 103

/** Where the process that serves a data directory accepts commands: a path, or a named pipe on Windows. */
export function controlSocketPath(dataDir: string): string {
  if (process.platform === 'win32') {
    return `\\\\.\\pipe\\sterna-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`
  }
  const absolute = join(dataDir, 'control.sock')
  const shorter = relative(process.cwd(), absolute)
  const path = shorter.length < absolute.length ? shorter : absolute
  if (Buffer.byteLength(path) <= maxPathLength) return path
  throw new SternaError('configuration', `The path of data_dir is too long: ${absolute} must have at most ${maxPathLength} bytes.`)
}

/**
 * Accepts commands for this process, one per connection: a line of JSON `{argv, cwd, prepared}` in; out come lines `{stdout, stderr}` for what is
 * shown before the end, and a last line `{stdout, stderr, exitCode}`. A client that has had enough closes the connection. Only the user
 * that the server runs as can connect. The caller holds the data directory, so anything at `path` is a leftover.
 */
export async function serveControlSocket(
  path: string,
  run: (request: CommandRequest, client: CommandClient) => Promise<CommandResult>,
  log: Log,
): Promise<{ close(): Promise<void> }> {
  const isFile = process.platform !== 'win32'
  if (isFile) rmSync(path, { force: true })
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', (error) => log.debug({ error }, 'nobody waited for the result of a command'))
    readLine(socket, maxRequestLength)
      .then(async (line) => socket.end(`${JSON.stringify(await run(requestOf(line), clientAt(socket)))}\n`))
      .catch((error: unknown) => {
        log.warn({ error }, 'a command could not be read')
        socket.destroy()
      })
  })
  // Between bind() and chmod() others could connect if the mode were not narrow from the start.
  const mask = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  } finally {
    process.umask(mask)
  }
  if (isFile) chmodSync(path, 0o600)
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

/** The client at the other end of a connection. */
function clientAt(socket: Socket): CommandClient {
  const leaving = new AbortController()
  for (const event of ['end', 'close']) socket.once(event, () => leaving.abort())
  if (socket.readableEnded || socket.destroyed) leaving.abort()
  return {
    signal: leaving.signal,
    async tell(text) {
      if (socket.destroyed || socket.write(`${JSON.stringify(text)}\n`)) return
      await once(socket, 'drain', { signal: leaving.signal }).catch(() => {})
    },
  }
}

/** Lets the serving process run a command, and shows what it tells before the end; undefined if there is no such process. Rejects on abort. */
export async function askServer(
  path: string,
  request: CommandRequest,
  { tell = async () => {}, signal }: Partial<CommandClient> = {},
): Promise<CommandResult | undefined> {
  const line = JSON.stringify(request)
  if (line.length > maxRequestLength)
    throw new SternaError('invalid_parameter', 'What this command hands to the server is too large. Split it.')
  const socket = connect({ path, signal })
  try {
    await new Promise<void>((resolve, reject) => socket.once('error', reject).once('connect', resolve))
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (['ENOENT', 'ECONNREFUSED'].includes(code)) return undefined
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    throw new SternaError('configuration', `Only the user that the server runs as may use ${path}. Run the command as that user.`)
  }
  socket.write(`${line}\n`)
  for await (const answered of linesOf(socket)) {
    const answer = JSON.parse(answered) as Partial<CommandResult>
    if (answer.exitCode !== undefined) return answer as CommandResult
    await tell(answer)
  }
  throw new Error('the connection ended too early')
}

function requestOf(line: string): CommandRequest {
  const { argv, cwd, prepared } = JSON.parse(line) as Partial<CommandRequest>
  const isText = (value: unknown): boolean => typeof value === 'string'
  if (Array.isArray(argv) && argv.every(isText) && typeof cwd === 'string') return { argv, cwd, prepared }
  throw new Error('this is not a command')
}

async function* linesOf(socket: Socket): AsyncGenerator<string> {
  const parts: string[] = []
  for await (const part of socket.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...rest] = part.split('\n')
    parts.push(first)
    for (const next of rest) {
      yield parts.splice(0).join('')
      parts.push(next)
    }
  }
}

function readLine(socket: Socket, limit: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (part: string) => {
    const end = part.indexOf('\n')
    text += end < 0 ? part : part.slice(0, end)
    if (end >= 0) resolve(text)
    else if (text.length > limit) reject(new Error('the line is too long'))
  })
  socket.once('error', reject)
  socket.once('close', () => reject(new Error('the connection ended too early')))
  return promise
}
