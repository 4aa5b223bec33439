/**
 * Proves that whoever fetches pictures of tracked mail by the thousand keeps no mail waiting: others' mail is timed from its request to
 * its delivery, when all is quiet and during the flood. Linux, loopback only, bounded.
 *
 * node scripts/pixel-flood.ts [--per-second 2000] [--seconds 30] [--mails 20] [--within 1.2] [--control]
 *
 * `--mails` is how many are sent in a second. Exits 0 when every picture is served, no mail is lost, and, with `--within`, the p99 of
 * mail is at most so many times what it was when quiet. With `--control` the flood goes to a bare HTTP server beside it: what is left of
 * the difference is not the server's, but that of one machine doing all of this.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { endWithProcess } from '../test/support/end-with-process.ts'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startFakeMx } from '../test/support/fake-mx.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({
  options: {
    'per-second': { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '30' },
    mails: { type: 'string', default: '20' },
    within: { type: 'string' },
    control: { type: 'boolean', default: false },
  },
})
const [perSecond, seconds, mails] = [Number(values['per-second']), Number(values.seconds), Number(values.mails)]
const tracked = 1_000

const directory = mkdtempSync(join(tmpdir(), 'sterna-pixels-'))
const arrivedAt = new Map<string, number>()
const mx = await startFakeMx({ host: '127.0.0.2', on: { dot: ({ rcptTo }) => void arrivedAt.set(rcptTo[0] ?? '', performance.now()) } })
const dns = await startFakeDns({ 'rcpt.example': { a: ['127.0.0.2'] } })
const server = await ServerUnderTest.prepare(directory, dns.server, mx.port)
await server.start()

async function send(to: string[], more: object = {}): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.httpPort}/api/emails/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(
      to.map((address) => ({ from: 'app@sender.example', to: address, subject: 'Hello', html: '<p>Hello</p>', ...more })),
    ),
  })
  if (!response.ok) throw new Error(`mail was refused: ${response.status} ${await response.text()}`)
}

/** Answers everything with a picture's worth of bytes, and prints its port. */
const bareServer = `require('http').createServer((q, r) => r.writeHead(200, { 'Content-Type': 'image/gif', 'Content-Length': 43 }).end('x'.repeat(43)))
     .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

const portOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve) => child.stdout?.once('data', (text: Buffer) => resolve(Number(text.toString()))))

/** ms of each mail, sent one by one at an even pace. */
async function timeMail(name: string): Promise<{ p50: number; p99: number; lost: number }> {
  const sentAt = new Map<string, number>()
  const sending: Promise<void>[] = []
  for (let i = 0; i < mails * seconds; i++) {
    const address = `${name}${i}@rcpt.example`
    sentAt.set(address, performance.now())
    sending.push(send([address]))
    await pause(1000 / mails)
  }
  await Promise.all(sending)
  await pause(2_000)
  const times = Array.from(sentAt, ([address, at]) => (arrivedAt.get(address) ?? Infinity) - at).toSorted((a, b) => a - b)
  const at = (part: number): number => times[Math.floor(times.length * part)] ?? Infinity
  return { p50: at(0.5), p99: at(0.99), lost: times.filter((ms) => ms === Infinity).length }
}

for (let i = 0; i < tracked; i += 100)
  await send(
    Array.from({ length: 100 }, (_, place) => `reader${i + place}@rcpt.example`),
    { tracking: { opens: true } },
  )
await mx.waitForMessages(tracked)
const paths = mx.messages.map(({ data }) => /\/t\/o\/\w{48}/.exec(data.toString('latin1').replace(/=\r\n/g, ''))?.[0] ?? '')
await timeMail('warm')
const quiet = await timeMail('quiet')
const bare = values.control ? spawn(process.execPath, ['-e', bareServer]) : null
endWithProcess(() => bare?.kill())
const port = bare ? await portOf(bare) : server.httpPort
const flood = new Promise<{ asked: number; statuses: Record<string, number> }>((resolve, reject) => {
  new Worker(new URL('./campaign/pixel-flood-thread.ts', import.meta.url), { workerData: { port, paths, perSecond, seconds: seconds + 2 } })
    .once('message', resolve)
    .once('error', reject)
})
const busy = await timeMail('busy')
const { asked, statuses } = await flood
await server.end('SIGTERM')
bare?.kill()
const shown = ({ p50, p99, lost }: typeof quiet): string => `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${lost} lost`
console.log(
  `mail from its request to its delivery, ${mails} a second: ${shown(quiet)}; with ${perSecond} pictures a second: ${shown(busy)}`,
)
console.log(`${asked} pictures asked for, answered ${JSON.stringify(statuses)}`)
await mx.close()
await dns.close()
rmSync(directory, { recursive: true, force: true })
const isServed = statuses['200'] === asked
const isWithin = values.within === undefined || busy.p99 <= Number(values.within) * quiet.p99
process.exit(isServed && isWithin && quiet.lost + busy.lost === 0 ? 0 : 1)
