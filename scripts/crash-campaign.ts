/**
 * Proves that nothing acknowledged is lost: a real server under mixed SMTP and HTTP load is killed (SIGKILL) at random
 * moments and started again. Loopback only, bounded.
 *
 * node scripts/crash-campaign.ts [--kills 50] [--seed N] [--directory DIR]
 *
 * Exits 0 when every acknowledged message arrived and no more arrived twice than were in doubt at the kills.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startLedgerSink } from './campaign/ledger-sink.ts'
import { startMixedLoad } from './campaign/mixed-load.ts'
import { seededRandom } from './campaign/seeded-random.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    directory: { type: 'string' },
  },
})
const kills = Number(values.kills)
const random = seededRandom(Number(values.seed))

const directory = values.directory ?? mkdtempSync(join(tmpdir(), 'sterna-campaign-'))
const sink = await startLedgerSink('127.0.0.2')
const mx = { mx: [[10, 'sink.example']] as [number, string][], ttl: 60 }
const zone = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`rcpt${i}.example`, mx]))
const dns = await startFakeDns({ ...zone, 'sink.example': { a: ['127.0.0.2'], ttl: 60 } })
const server = await ServerUnderTest.prepare(directory, dns.server, sink.port)

console.log(`seed ${values.seed}, ${kills} kills`)
await server.start()
const load = startMixedLoad(server, { smtpClients: 8, httpClients: 4, size: 2048 })
let inDoubt = 0
let slowestStart = 0
for (let kill = 0; kill < kills; kill++) {
  await pause(100 + random() * 900)
  const at = performance.now()
  inDoubt += sink.inDoubt()
  await server.end('SIGKILL')
  // A busy machine takes a while to kill it.
  inDoubt += sink.inDoubt(performance.now() - at)
  slowestStart = Math.max(slowestStart, await server.start())
}
await pause(500)
await load.stop()
const { acknowledged, unknown, refusals } = load.ledger
const missing = (): string[] => [...acknowledged].filter((id) => !sink.taken.has(id))
for (const deadline = performance.now() + 300_000; missing().length > 0 && performance.now() < deadline;) await pause(100)
await server.end('SIGTERM')

const lost = missing()
const twice = [...sink.taken.values()].reduce((sum, times) => sum + times - 1, 0)
const unasked = [...sink.taken.keys()].filter((id) => !acknowledged.has(id) && !unknown.has(id))
console.log(
  `${acknowledged.size} acknowledged, ${lost.length} lost, ${twice} delivered twice (${inDoubt} in doubt at the kills), ` +
    `${unknown.size} without an answer, refusals ${JSON.stringify(Object.fromEntries(refusals))}, ` +
    `slowest start ${Math.round(slowestStart)} ms`,
)
dns.close()
sink.close()
if (!values.directory) rmSync(directory, { recursive: true, force: true })
const isGood = lost.length === 0 && twice <= inDoubt && unasked.length === 0 && acknowledged.size > 0
if (!isGood) console.error('FAILED', { lost: lost.slice(0, 20), unasked: unasked.slice(0, 20), twice, inDoubt })
process.exit(isGood ? 0 : 1)
