/**
 * Proves that webhooks tell of an email in the order of its events: three receivers of each shape, of which one is slow and one fails
 * at times, while the server is stopped once and killed once. Loopback only, bounded.
 *
 * node scripts/webhook-order.ts [--emails 500] [--seed 1]
 *
 * Exits 0 when every event came, none before an earlier one of its email that had not failed, and each shape's bodies can be sorted.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openReader } from '../src/platform/store/sqlite/sqlite-connection.ts'
import { webhookEventTypes } from '../src/mail/event/event-type.ts'
import { isServiceShape, payloadKinds, type PayloadKind } from '../src/notify/webhook/payload-kind.ts'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startFakeMx } from '../test/support/fake-mx.ts'
import { startLedgerSink } from './campaign/ledger-sink.ts'
import { seededRandom } from './campaign/seeded-random.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'
import { countDisorder, startOrderReceiver, type LoggedEvent, type OrderReceiver } from './campaign/order-receiver.ts'

const { values } = parseArgs({ options: { emails: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } } })
const emails = Number(values.emails)
const random = seededRandom(Number(values.seed))
const clients = 8

const directory = mkdtempSync(join(tmpdir(), 'sterna-order-'))
const sink = await startLedgerSink('127.0.0.2')
const seen = new Set<string>()
const greylist = await startFakeMx({
  host: '127.0.0.3',
  port: sink.port,
  on: { rcpt: (address) => (seen.size < seen.add(address).size ? '451 4.7.1 Greylisted' : undefined) },
})
const dns = await startFakeDns({
  'rcpt.example': { mx: [[10, 'sink.example']] },
  'sink.example': { a: ['127.0.0.2'] },
  'slow.example': { mx: [[10, 'greylist.example']] },
  'greylist.example': { a: ['127.0.0.3'] },
})
const server = await ServerUnderTest.prepare(directory, dns.server, sink.port, {
  STERNA_WEBHOOKS_ALLOW_PRIVATE_ADDRESSES: 'true',
  STERNA_WEBHOOKS_RETRY_SCHEDULE: Array(20).fill('1s').join(','),
})
await server.start()

const receivers: OrderReceiver[] = []
for (const payload of payloadKinds) {
  for (const manners of [{}, { slowMs: 20 }, { slowMs: 5, failing: 0.1 }]) {
    const receiver = await startOrderReceiver(payload, manners, random)
    await call('/api/webhooks', { url: receiver.url, payload, events: [...webhookEventTypes] }, payload + JSON.stringify(manners))
    receivers.push(receiver)
  }
}

const people = ['delivered', 'clicked', 'complained', 'unsubscribed', 'bounced', 'softbounced'].map((name) => `${name}@simulator.test`)
let last = 0
const load = Array.from({ length: clients }, async () => {
  for (let number = last++; number < emails; number = last++) {
    const someone = people[number % people.length] as string
    const to = [`n${number}@rcpt.example`, ...(number % 3 === 0 ? [someone] : []), ...(number % 5 === 0 ? [`n${number}@slow.example`] : [])]
    await call('/api/emails', { from: 'app@sender.example', to, subject: 'Hello', text: 'Hello' }, `email ${number}`)
  }
})
for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  const goal = (emails * receivers.length * (signal === 'SIGTERM' ? 1 : 2)) / 2
  while (receivers.reduce((sum, { posts }) => sum + posts.length, 0) < goal) await pause(5)
  await server.end(signal)
  await server.start()
}
await Promise.all(load)

for (const deadline = Date.now() + 300_000; Date.now() < deadline && !isOver();) await pause(500)
await server.end('SIGTERM')
const log = readLog()
for (const { close } of [...receivers, sink, greylist, dns]) await close()
rmSync(directory, { recursive: true, force: true })

console.log(`${emails} emails, ${log.length} events, ${receivers.length} endpoints, one stop and one kill`)
const counts = receivers.map((receiver) => countDisorder(receiver, eventsFor(receiver.payload)))
const sum = (count: (typeof counts)[number]): number => count.outOfOrder + count.unsortable + count.missing
for (const [place, { posts, payload, failures }] of receivers.entries()) {
  const { outOfOrder, afterFailure, unsortable, sameTime, missing } = counts[place] as (typeof counts)[number]
  console.log(
    `${payload}: ${posts.length} posts, ${failures} failed, ${outOfOrder} out of order, ${afterFailure} after a failure; ` +
      `${sameTime} of one time with the event before, ${unsortable} not to be sorted; ${missing} missing`,
  )
}
process.exit(counts.some(sum) || log.length === 0 ? 1 : 0)

/** Asks until there is an answer, for minutes: the server is started again meanwhile, and the machine may be busy. */
async function call(path: string, body: object, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json', 'idempotency-key': key }
  for (let tries = 0; tries < 4_000; tries++) {
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`http://127.0.0.1:${server.httpPort}${path}`, init).catch(() => null)
    await response?.text().catch(() => {})
    if (response?.ok) return
    if (response && response.status < 500 && response.status !== 409) throw new Error(`${path} was answered with ${response.status}`)
    await pause(50)
  }
  throw new Error(`${path} was not answered`)
}

/** Ours tell of everything, another service's of what it has a word for: what one of its receivers was told, all should be. */
function eventsFor(payload: PayloadKind): LoggedEvent[] {
  if (!isServiceShape(payload)) return log
  const told = new Set(receivers.filter((one) => one.payload === payload).flatMap(({ posts }) => posts.map(({ eventId }) => eventId)))
  return log.filter(({ id }) => told.has(id))
}

/** True once all mail has its outcome, and all webhooks are told. */
function isOver(): boolean {
  const connection = openReader(directory)
  const waiting = connection
    .prepare<[], number>(
      `select (select count(*) from recipient where due_at is not null or owner is not null)
            + (select count(*) from webhook_delivery where state in ('pending', 'attempting'))
            + (select max(seq) from event) - (select position from cursor where name = 'webhook')`,
    )
    .pluck()
    .get()
  connection.close()
  return waiting === 0
}

/** What webhooks are told, out of the database itself. */
function readLog(): LoggedEvent[] {
  const connection = openReader(directory)
  const types = webhookEventTypes.map((type) => `'${type}'`).join(', ')
  const rows = connection
    .prepare<[], LoggedEvent>(`select seq, id, message_id as email from event where type in (${types}) order by seq`)
    .all()
  connection.close()
  return rows
}
