import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../bench/free-port.ts'
import { waitForPort } from '../../bench/wait-for-port.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** Where `.ci/run` unpacks it: installed, it would start as a service. */
const program = '/var/cache/sterna-peers/unbound/usr/sbin/unbound'

export interface UnboundServer {
  /** `address:port`, for the setting `dns.servers`. */
  server: string
  stop(): Promise<void>
}

interface UnboundOptions {
  /** `address:port` of the server that has all zones. */
  authority: string
  zones: string[]
  /** DNSKEY records, by the zone that each is for; null: it does not validate. */
  anchors: Record<string, string> | null
  port?: number
}

/** A real resolver on loopback that keeps nothing for more than a second. Zones without an anchor count as unsigned. */
export async function startUnbound({ authority, zones, anchors, port: wished }: UnboundOptions): Promise<UnboundServer> {
  if (!existsSync(program)) throw new Error(`${program} is missing: .ci/run unpacks it there`)
  const directory = temporaryDirectory()
  const port = wished ?? (await freePort())
  const unsigned = zones.filter((zone) => anchors?.[zone] === undefined)
  writeFileSync(join(directory.path, 'anchors'), `${Object.values(anchors ?? {}).join('\n')}\n`)
  const lines = [
    'server:',
    `interface: 127.0.0.1@${port}`,
    'do-daemonize: no',
    'chroot: ""',
    'username: ""',
    `directory: "${directory.path}"`,
    'pidfile: ""',
    'use-syslog: no',
    'num-threads: 1',
    'do-not-query-localhost: no',
    'cache-max-ttl: 0',
    'cache-max-negative-ttl: 0',
    `module-config: "${anchors === null ? 'iterator' : 'validator iterator'}"`,
    ...(anchors === null ? [] : ['trust-anchor-file: "anchors"', ...unsigned.map((zone) => `domain-insecure: "${zone}"`)]),
    'local-zone: "test." nodefault',
    ...zones.flatMap((zone) => ['stub-zone:', `name: "${zone}"`, `stub-addr: ${authority.replace(':', '@')}`]),
    'remote-control:',
    'control-enable: no',
    '',
  ]
  writeFileSync(join(directory.path, 'unbound.conf'), lines.join('\n'))
  const unbound = spawn(program, ['-d', '-c', join(directory.path, 'unbound.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  unbound.stderr.on('data', (bytes: Buffer) => (log += bytes.toString()))
  const ended = new Promise<void>((resolve) => unbound.once('close', () => resolve()))
  await Promise.race([waitForPort('127.0.0.1', port), ended.then(() => Promise.reject(new Error(`unbound ended: ${log}`)))])
  return {
    server: `127.0.0.1:${port}`,
    async stop() {
      unbound.kill('SIGTERM')
      await ended
      directory.remove()
    },
  }
}
