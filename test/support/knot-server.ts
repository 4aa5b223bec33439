import { execFile, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../bench/free-port.ts'
import { temporaryDirectory } from './temporary-directory.ts'

const execute = promisify(execFile)

/** A line of a zone file, without its TTL: `send MX 10 relay.example.` */
export type ZoneLine = string

/** A real, authoritative name server on loopback. */
export interface KnotServer {
  /** `address:port`, for the setting `dns.servers`. */
  server: string
  /** Replaces what a zone has below its SOA; when it resolves, that is what is answered. */
  serve(zone: string, lines: ZoneLine[]): Promise<void>
  /** The DNSKEY record of a signed zone, as a trust anchor. */
  keyOf(zone: string): Promise<string>
  stop(): Promise<void>
}

/**
 * Starts Debian's knot with these zones, which are empty at first. Records are not to be kept by anybody: their TTL is 0.
 * @param signed those of the zones that it signs
 */
export async function startKnot(zones: string[], signed: string[] = []): Promise<KnotServer> {
  const directory = temporaryDirectory()
  const at = (name: string): string => join(directory.path, name)
  const [host, port] = ['127.0.0.1', await freePort()]
  mkdirSync(at('zones'))
  mkdirSync(at('db'))
  let serial = 0
  const write = (zone: string, lines: ZoneLine[]): void => {
    const head = ['$TTL 0', `@ SOA ns.${zone}. hostmaster.${zone}. ${++serial} 3600 600 86400 0`, `@ NS ns.${zone}.`, 'ns A 127.0.0.1']
    writeFileSync(at(`zones/${zone}.zone`), [...head, ...lines, ''].join('\n'))
  }
  for (const zone of zones) write(zone, [])
  const configuration = [
    'server:',
    `  rundir: ${directory.path}`,
    `  listen: ${host}@${port}`,
    'control:',
    `  listen: ${at('knot.sock')}`,
    'database:',
    `  storage: ${at('db')}`,
    'policy:',
    '  - id: signed',
    '    algorithm: ecdsap256sha256',
    '    single-type-signing: on',
    'template:',
    '  - id: default',
    `    storage: ${at('zones')}`,
    '    file: "%s.zone"',
    '    zonefile-load: whole',
    '    zonefile-sync: -1',
    '    journal-content: none',
    'zone:',
    ...zones.flatMap((zone) => [
      `  - domain: ${zone}`,
      ...(signed.includes(zone) ? ['    dnssec-signing: on', '    dnssec-policy: signed'] : []),
    ]),
    '',
  ]
  writeFileSync(at('knot.conf'), configuration.join('\n'))
  const knot = spawn('knotd', ['-c', at('knot.conf')], { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = new Promise<void>((resolve) => knot.once('exit', () => resolve()))
  const control = (...words: string[]) => execute('knotc', ['-b', '-s', at('knot.sock'), ...words])
  await answers(() => control('status'))
  return {
    server: `${host}:${port}`,
    async serve(zone, lines) {
      write(zone, lines)
      await control('-f', 'zone-reload', zone)
    },
    async keyOf(zone) {
      const { stdout } = await execute('keymgr', ['-c', at('knot.conf'), zone, 'dnskey'])
      return stdout.trim()
    },
    async stop() {
      knot.kill('SIGTERM')
      await ended
      directory.remove()
    },
  }
}

async function answers(ask: () => Promise<unknown>): Promise<void> {
  for (const deadline = Date.now() + 20_000; ;) {
    try {
      await ask()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
