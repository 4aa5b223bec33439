import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../bench/free-port.ts'
import { waitForPort } from '../../bench/wait-for-port.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** Where `.ci/run` unpacks Debian's Prometheus. */
const binaries = '/var/cache/sterna-peers/prometheus/usr/bin'

export interface Prometheus {
  /** What `query` gives at the moment. */
  query(
    query: string,
  ): Promise<{ status: string; error?: string; data: { result: { metric: Record<string, string>; value: [number, string] }[] } }>
  get(path: string): Promise<any>
  stop(): Promise<void>
}

/** Runs promtool, with `input` if given; throws with its words where it finds a fault. */
export function promtool(args: string[], input = ''): string {
  return execFileSync(join(binaries, 'promtool'), args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'inherit'] })
}

/** Prometheus with this configuration, as YAML or JSON; it listens on loopback. */
export async function startPrometheus(configuration: object): Promise<Prometheus> {
  const directory = temporaryDirectory()
  const file = join(directory.path, 'prometheus.yml')
  writeFileSync(file, JSON.stringify(configuration))
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${directory.path}/data`,
    `--web.listen-address=${address}`,
    '--log.level=error',
  ]
  const child = spawn(join(binaries, 'prometheus'), args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
    directory.remove()
  }
  try {
    await waitForPort('127.0.0.1', port)
  } catch (error) {
    await stop()
    throw error
  }
  const get = async (path: string) => (await fetch(`http://${address}${path}`)).json()
  return {
    get,
    query: (query) => get(`/api/v1/query?query=${encodeURIComponent(query)}`) as ReturnType<Prometheus['query']>,
    stop,
  }
}
