import { spawn, type ChildProcess } from 'node:child_process'
import { expect, onTestFinished } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { storeSettings } from './postgres-databases.ts'
import { sternaCommand } from './sterna-command.ts'

/** A real server in a process of its own. */
export interface SpawnedServer {
  child: ChildProcess
  httpPort: number
  /** What it has written so far. */
  stdout(): string
  stderr(): string
  /** Lines of its log with this message. */
  logged(message: string): Record<string, any>[]
  /** Its exit code, once it has ended. */
  ended: Promise<number | null>
}

/**
 * Starts `sterna serve` on loopback, with any free ports; it ends with the test. `settings` are named as in the environment, without
 * `STERNA_`; `wrapper` is what the command line begins with, such as `setpriv`, `command` what is run, and `options` what it ends with.
 */
export async function spawnServer(
  directory: string,
  settings: Record<string, string> = {},
  { wrapper = [], command = sternaCommand, options = [] }: { wrapper?: string[]; command?: readonly string[]; options?: string[] } = {},
): Promise<SpawnedServer> {
  const httpPort = await freePort()
  const given = {
    DATA_DIR: directory,
    HTTP_LISTEN: `127.0.0.1:${httpPort}`,
    SUBMISSION_LISTEN: '127.0.0.1:0',
    SUBMISSION_TLS_LISTEN: '127.0.0.1:0',
    RETURN_PATH_LISTEN: '127.0.0.1:0',
    // Nobody answers there: a look-up ends as a failure at once.
    DNS_SERVERS: '127.0.0.1:1',
    ...(await storeSettings(directory)),
    ...settings,
  }
  const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [`STERNA_${name}`, value]))
  const [program = '', ...words] = [...wrapper, ...command, 'serve', ...options]
  const child = spawn(program, words, { cwd: directory, env: { PATH: process.env['PATH'], ...env } })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (part: Buffer) => (stdout += part.toString()))
  child.stderr.on('data', (part: Buffer) => (stderr += part.toString()))
  const ended = new Promise<number | null>((end) => child.once('close', end))
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  const lines = (): Record<string, any>[] => stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const logged = (message: string) => lines().filter((line) => line['message'] === message)
  return { child, httpPort, stdout: () => stdout, stderr: () => stderr, logged, ended }
}

/** Waits until it serves. */
export const untilReady = ({ logged }: SpawnedServer): Promise<void> => expect.poll(() => logged('Sterna is ready')).toHaveLength(1)
