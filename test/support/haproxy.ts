import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitForPort } from '../../bench/wait-for-port.ts'
import { temporaryDirectory } from './temporary-directory.ts'

export interface Haproxy {
  /** What it has written so far. */
  output(): string
  stop(): Promise<void>
}

const program = '/var/cache/sterna-peers/haproxy/usr/sbin/haproxy'

/** Starts it with this configuration, and waits until it listens on `ports` of `host`. */
export async function startHaproxy(configuration: string, { host, ports }: { host: string; ports: Iterable<number> }): Promise<Haproxy> {
  if (!existsSync(program)) throw new Error(`${program} is missing: .ci/run unpacks it there`)
  const directory = temporaryDirectory()
  const file = join(directory.path, 'haproxy.cfg')
  writeFileSync(file, configuration)
  const child = spawn(program, ['-db', '-f', file])
  const ended = new Promise((resolve) => child.once('exit', resolve))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes.toString()))
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) child.kill('SIGKILL')
    await ended
    directory.remove()
  }
  const listens = Promise.all(Array.from(ports, (port) => waitForPort(host, port)))
  const fails = ended.then(() => Promise.reject(new Error('it has ended')))
  await Promise.race([listens, fails]).catch(async (error: unknown) => {
    await stop()
    throw new Error(`HAProxy does not listen: ${output}`, { cause: error })
  })
  fails.catch(() => {})
  return { output: () => output, stop }
}
