/**
 * Proves that the event feed has no gaps: a real server under the load of twenty clients is killed (SIGKILL) at random
 * moments and started again, while readers follow its events by pages and by stream. Loopback only, bounded.
 *
 * node scripts/feed-campaign.ts [--kills 25] [--directory DIR]
 *
 * Exits 0 when every reader has seen each event of the log once, in the order of the log, and none is missing.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { publicEventTypes } from '../src/mail/event/event-type.ts'
import { openReader } from '../src/platform/store/sqlite/sqlite-connection.ts'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { followPages, followStream, type FeedReader } from './campaign/feed-readers.ts'
import { startLedgerSink } from './campaign/ledger-sink.ts'
import { startMixedLoad } from './campaign/mixed-load.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({ options: { kills: { type: 'string', default: '25' }, directory: { type: 'string' } } })
const kills = Number(values.kills)
const directory = values.directory ?? mkdtempSync(join(tmpdir(), 'sterna-feed-'))
const sink = await startLedgerSink('127.0.0.2')
const mx = { mx: [[10, 'sink.example']] as [number, string][], ttl: 60 }
const zone = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`rcpt${i}.example`, mx]))
const dns = await startFakeDns({ ...zone, 'sink.example': { a: ['127.0.0.2'], ttl: 60 } })
const server = await ServerUnderTest.prepare(directory, dns.server, sink.port)

await server.start()
const load = startMixedLoad(server, { smtpClients: 12, httpClients: 8, size: 512 })
const pages = followPages(server)
while (pages.seen.length === 0) await pause(20)
const after = pages.seen[0] as string
const readers = [pages, followStream(server, { name: 'stream', after }), followStream(server, { name: 'slow stream', after, slowMs: 50 })]
for (let kill = 0; kill < kills; kill++) {
  await pause(200 + Math.random() * 1_000)
  await server.end('SIGKILL')
  await server.start()
  // Somebody who was away for half the time and has only the first event.
  if (kill === Math.floor(kills / 2)) readers.push(followStream(server, { name: 'late stream', after }))
}
await pause(500)
await load.stop()

for (const deadline = performance.now() + 300_000; performance.now() < deadline; await pause(200)) {
  const length = readLog().length
  await pause(1_000)
  if (length === readLog().length && readers.every(({ seen }) => seen.at(-1) === readLog().at(-1))) break
}
await Promise.all(readers.map((reader) => reader.stop()))
await server.end('SIGTERM')
const log = readLog()
dns.close()
sink.close()
if (!values.directory) rmSync(directory, { recursive: true, force: true })

console.log(`${kills} kills, ${load.ledger.acknowledged.size} messages acknowledged, ${log.length} events in the log`)
const isGood = readers.map((reader) => tell(reader, reader === pages ? log : log.slice(1))).every(Boolean)
process.exit(isGood && log.length > 0 ? 0 : 1)

/** The public events of the log in its order, out of the database itself. */
function readLog(): string[] {
  const connection = openReader(directory)
  const types = publicEventTypes.map((type) => `'${type}'`).join(', ')
  const ids = connection.prepare<[], string>(`select id from event where type in (${types}) order by seq`).pluck().all()
  connection.close()
  return ids
}

/** Says what a reader has seen; true where that is exactly what it should have. */
function tell({ name, seen, broken, faults }: FeedReader, expected: string[]): boolean {
  const once = new Set(seen)
  const missing = expected.filter((id) => !once.has(id)).length
  const twice = seen.length - once.size
  const isInOrder = seen.length === expected.length && seen.every((id, place) => id === expected[place])
  console.log(
    `${name}: ${seen.length} events seen of ${expected.length}, ${missing} missing, ${twice} twice, ${isInOrder ? 'in order' : 'NOT in order'}, ` +
      `${broken} connections broken or refused`,
  )
  if (faults.length > 0) console.error(`${name}: answered with`, faults.slice(0, 5))
  return isInOrder && faults.length === 0
}
