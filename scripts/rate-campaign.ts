/**
 * Proves the rate limits on a real server and the real clock: 3,000 requests from 20 connections within 70 seconds on an
 * account that may make 500 a minute, with a restart and a crash in between. Loopback only.
 *
 * node scripts/rate-campaign.ts [--requests 3000] [--connections 20] [--seconds 70]
 *
 * Exits 0 when never more than 500 were accepted in any minute, none was refused while fewer were, every field was
 * right, nothing was done for what was refused, `Retry-After` was kept, and another account went on unhindered.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { rowsIn } from './campaign/database-rows.ts'
import { clockMoved, maxInOneMinute, RateClient, wrongRemaining, type RateEntry } from './campaign/rate-ledger.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '3000' },
    connections: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '70' },
  },
})
const [requests, connections, seconds] = [Number(values.requests), Number(values.connections), Number(values.seconds)]
const starter = { name: 'starter', limit: 500 }
const free = { name: 'free', limit: 100 }
/** What may be forgotten at a crash, ms: what is saved once a second, and the time that a loaded machine takes for it. */
const saveMs = 1_500

const directory = mkdtempSync(join(tmpdir(), 'sterna-rates-'))
const dns = await startFakeDns({})
const server = await ServerUnderTest.prepare(directory, dns.server, 25)
const keyOf = (account: string, plan: string): string => {
  server.command('account', 'create', account, '--plan', plan)
  return server.command('key', 'create', '--account', account, '--permission', 'full_access', '--sandbox')
}
const keys = { busy: keyOf('busy', 'starter'), other: keyOf('other', 'starter'), patient: keyOf('patient', 'free') }
await server.start()
const busy = new RateClient(server.httpPort, keys.busy, starter, connections)
const other = new RateClient(server.httpPort, keys.other, starter)
const patient = new RateClient(server.httpPort, keys.patient, free)
const email = { from: 'app@sender.example', to: 'delivered@simulator.test', subject: 'One of many', text: 'Hello' }

const startedAt = performance.now()
const until = (ms: number): Promise<void> => pause(Math.max(0, startedAt + ms - performance.now()))

/** Requests at an even pace, each on the connection whose turn it is. */
async function press(connection: number): Promise<void> {
  for (let number = connection; number < requests; number += connections) {
    await until((number * seconds * 1000) / requests)
    await busy.send('POST', '/api/emails', email)
  }
}

async function goOnBeside(): Promise<void> {
  for (let ms = 0; ms < seconds * 1000; ms += 200) {
    await until(ms)
    await other.send('GET', '/api/emails')
  }
}

/** Uses a limit up and keeps to what the answer says; tells the status of the request after that. */
async function keepToRetryAfter(): Promise<{ after: number; status: number }> {
  let last = await patient.send('GET', '/api/emails')
  while (last.status !== 429) last = await patient.send('GET', '/api/emails')
  await pause(last.resetSeconds * 1000)
  return { after: last.resetSeconds, status: (await patient.send('GET', '/api/emails')).status }
}

/** When the server was killed. */
let crashedAt = 0

async function restart(): Promise<void> {
  await until(30_000)
  await server.end('SIGTERM')
  await server.start()
  await until(45_000)
  crashedAt = performance.now()
  await server.end('SIGKILL')
  await server.start()
}

const [kept] = await Promise.all([keepToRetryAfter(), goOnBeside(), restart(), ...Array.from({ length: connections }, (_, n) => press(n))])

const load = [...busy.entries]
const accepted = load.filter(({ status }) => status === 200).length
const refused = load.filter(({ status }) => status === 429).length
await server.end('SIGTERM')
/** What there is of it. */
const stored = rowsIn(directory)("select 1 from message join account on account.id = message.account_id where account.name = 'busy'").length
for (const client of [busy, other, patient]) client.close()
dns.close()
rmSync(directory, { recursive: true, force: true })

const most = maxInOneMinute(load)
const faults = [busy, other, patient].flatMap(({ entries }) => entries.flatMap(({ fault }) => fault ?? []))
const forgotten = ({ done }: RateEntry): boolean => done > crashedAt - saveMs && done < crashedAt + saveMs
const wrong = wrongRemaining(load, starter.limit, forgotten)
const otherRefused = other.entries.filter(({ status }) => status !== 200).length
const otherWrong = wrongRemaining(other.entries, starter.limit, forgotten)
console.log(
  `${load.length} requests in ${((Math.max(...load.map(({ done }) => done)) - startedAt) / 1000).toFixed(1)} s on ${connections} connections: ` +
    `${accepted} accepted, ${refused} refused, ${stored} emails made; at most ${most} of ${starter.limit} accepted in any minute; ` +
    `${faults.length} answers with a wrong field, ${wrong.length} with a wrong count; a restart and a crash; ` +
    `after Retry-After ${kept.after} s: ${kept.status}; other account: ${other.entries.length} requests, ${otherRefused} refused, ${otherWrong.length} with a wrong count; ` +
    `the clock of the machine moved by ${clockMoved(load).toFixed(1)} ms`,
)
const isGood =
  load.length === requests &&
  accepted + refused === requests &&
  accepted >= starter.limit &&
  refused > 0 &&
  stored === accepted &&
  most <= starter.limit &&
  faults.length === 0 &&
  wrong.length === 0 &&
  kept.status === 200 &&
  otherRefused === 0 &&
  otherWrong.length === 0
if (!isGood) console.error('FAILED', { faults: faults.slice(0, 5), wrong: wrong.slice(0, 5), otherWrong: otherWrong.slice(0, 5) })
process.exit(isGood ? 0 : 1)
