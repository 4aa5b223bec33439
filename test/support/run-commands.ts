import { execFile, fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { onFileFinished } from './file-finished.ts'
import { storeSettings } from './postgres-databases.ts'
import { isExecutable, sternaCommand } from './sterna-command.ts'

export interface Ran {
  stdout: string
  stderr: string
  exitCode: number
}

export interface Around {
  cwd: string
  /** All of the environment. */
  env?: Record<string, string>
}

/** Runs `sterna ARGV…` as a process of its own. */
export function runInOwnProcess(argv: string[], { cwd, env = {} }: Around): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>()
  const [program, ...words] = sternaCommand
  const child = execFile(program, [...words, ...argv], { cwd, env }, (_error, stdout, stderr) =>
    resolve({ stdout, stderr, exitCode: child.exitCode ?? -1 }),
  )
  return promise
}

/** Runs command lines in `cwd` on the data in `dataDir`. */
export const commandsIn =
  (cwd: string, dataDir: string) =>
  async (line: string, env: Record<string, string> = {}): Promise<Ran> => {
    const { STORE_URL } = await storeSettings(dataDir)
    const all = {
      STERNA_DATA_DIR: dataDir,
      STERNA_HOSTNAME: 'mail.example.net',
      STERNA_DNS_SERVERS: '127.0.0.1:1',
      ...(STORE_URL && { STERNA_STORE_URL: STORE_URL }),
      ...env,
    }
    return runCommandLine(line.split(' '), { cwd, env: all })
  }

interface Host {
  child: ChildProcess
  /** Rejects when it ends. */
  ended: Promise<never>
}

let host: Host | undefined

/**
 * Runs `sterna ARGV…` through the entry of the program, one at a time. The executable is a process each time. From the checkout, one process
 * runs all that a file of tests asks for: to start one takes far longer than most commands do.
 */
export async function runCommandLine(argv: string[], { cwd, env = {} }: Around): Promise<Ran> {
  if (isExecutable) return runInOwnProcess(argv, { cwd, env })
  const { child, ended } = (host ??= startHost())
  const told = Promise.all([untilNul(child.stdout), untilNul(child.stderr), once(child, 'message')])
  child.send({ argv, cwd, env })
  const [stdout, stderr, [exitCode]] = await Promise.race([told, ended])
  return { stdout, stderr, exitCode }
}

function untilNul(stream: Readable | null): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const take = (part: string): void => {
    text += part
    if (!text.endsWith('\0')) return
    stream?.off('data', take)
    resolve(text.slice(0, -1))
  }
  stream?.on('data', take)
  return promise
}

function startHost(): Host {
  const child = fork(new URL('command-host.ts', import.meta.url), { execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8')
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the process that runs commands ended with ${code}`)))
  ended.catch(() => {})
  onFileFinished(async () => {
    host = undefined
    child.kill()
    await ended.catch(() => {})
  })
  return { child, ended }
}
