/**
 * Proves that a full disk costs nothing: a real server with its data directory on a small file system is loaded until
 * it refuses, the rest of the disk is filled up by somebody else, then space comes back. Linux and root, because a
 * tmpfs is mounted. Loopback only, bounded.
 *
 * node scripts/full-disk.ts [--megabytes 64]
 */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, rmdirSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startLedgerSink } from './campaign/ledger-sink.ts'
import { startMixedLoad } from './campaign/mixed-load.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '64' } } })
const mount = mkdtempSync(join(tmpdir(), 'sterna-full-disk-'))
execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${values.megabytes}m`, 'tmpfs', mount])
const fillerFile = join(mount, 'filler')

/** Takes all the space that is left, to the last byte. */
function fillUp(): void {
  const file = openSync(fillerFile, 'w')
  try {
    for (let size = 1 << 20; size >= 512;) {
      try {
        writeSync(file, Buffer.alloc(size))
      } catch {
        size >>= 1
      }
    }
  } finally {
    closeSync(file)
  }
}

/** How long what takes seconds may take on a busy machine, ms. */
const maxMs = 300_000

const until = async (condition: () => boolean): Promise<boolean> => {
  for (const deadline = performance.now() + maxMs; performance.now() < deadline; await pause(50)) if (condition()) return true
  return condition()
}

const sink = await startLedgerSink('127.0.0.2')
const mx = { mx: [[10, 'sink.example']] as [number, string][], ttl: 60 }
const zone = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`rcpt${i}.example`, mx]))
const dns = await startFakeDns({ ...zone, 'sink.example': { a: ['127.0.0.2'], ttl: 60 } })
const server = await ServerUnderTest.prepare(join(mount, 'data'), dns.server, sink.port)
await server.start()
const load = startMixedLoad(server, { smtpClients: 4, httpClients: 4, size: 50_000 })
const { acknowledged, refusals } = load.ledger
const refused = (start: string): number => [...refusals].reduce((sum, [answer, times]) => sum + (answer.startsWith(start) ? times : 0), 0)

const faults: string[] = []
const demand = (isMet: boolean, what: string): void => {
  console.log(`${isMet ? 'ok  ' : 'NOT '} ${what}`)
  if (!isMet) faults.push(what)
}

demand(await until(() => refused('452') > 0 && refused('507') > 0), 'refuses with 452 and 507 before the disk is full')
const before = acknowledged.size
const refusedBefore = refused('4') + refused('507')
fillUp()
await pause(3_000)
demand(server.isRunning, 'lives on with not a byte left')
demand(await until(() => refused('4') + refused('507') > refusedBefore), 'goes on refusing')
rmSync(fillerFile)
rmSync(join(mount, 'data', 'none'), { force: true })
execFileSync('mount', ['-o', `remount,size=${Number(values.megabytes) * 4}m`, mount])
const freed = acknowledged.size
demand(await until(() => acknowledged.size > freed), 'accepts again after space came back')
await pause(1_000)
await load.stop()
demand(await until(() => [...acknowledged].every((id) => sink.taken.has(id))), 'delivers every acknowledged message')
const lost = [...acknowledged].filter((id) => !sink.taken.has(id))
console.log(
  `${acknowledged.size} acknowledged (${before} before the disk was full), ${lost.length} lost, refusals ${JSON.stringify(Object.fromEntries(refusals))}`,
)
await server.end('SIGTERM')
const check = execFileSync(
  process.execPath,
  [
    '-e',
    `
  const Sqlite = require(${JSON.stringify(new URL('../node_modules/better-sqlite3', import.meta.url).pathname)})
  console.log(new Sqlite(${JSON.stringify(join(mount, 'data', 'sterna.db'))}).pragma('integrity_check', { simple: true }))
`,
  ],
  { encoding: 'utf8' },
).trim()
demand(check === 'ok', 'the database is sound')
dns.close()
sink.close()
execFileSync('umount', [mount])
rmdirSync(mount)
process.exit(faults.length === 0 ? 0 : 1)
