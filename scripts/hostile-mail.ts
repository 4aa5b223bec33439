/**
 * Hands mail that is made to break its reader to the return path of a real server: deep, wide, endless, compressed; to the
 * address of a message, and to those for complaints, reports and the postmaster. Meanwhile others send mail. Loopback only.
 *
 * node scripts/hostile-mail.ts
 *
 * Prints for each how long it took until it was settled and the longest the server let a request wait. Exits 0 when all
 * are settled in time and without effect, and nobody else's mail was late.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startFakeMx } from '../test/support/fake-mx.ts'
import { SmtpClient } from '../test/support/smtp-client.ts'
import { HealthWatch } from './campaign/health-watch.ts'
import { hostileMails } from './campaign/hostile-mails.ts'
import { rowsIn } from './campaign/database-rows.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

/** ms, far above what a free machine takes: a reader has two seconds, and the machine may be busy. */
const limits = { settledMs: 10_000, waitMs: 1000, memoryMb: 800 }

const directory = mkdtempSync(join(tmpdir(), 'sterna-hostile-'))
const mx = await startFakeMx({ host: '127.0.0.2' })
const dns = await startFakeDns({ 'rcpt.example': { a: ['127.0.0.2'], ttl: 60 }, 'operator.example': { a: ['127.0.0.2'], ttl: 60 } })
const server = await ServerUnderTest.prepare(directory, dns.server, mx.port, {
  STERNA_OPERATOR_EMAIL: 'me@operator.example',
  STERNA_RETURN_PATH_MESSAGES_PER_MINUTE: '0',
  STERNA_RETURN_PATH_STORAGE_LIMIT: '8GB',
})
await server.start()
const health = new HealthWatch(server.httpPort)

const rows = rowsIn(directory)

async function send(to: string): Promise<void> {
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ from: 'app@sender.example', to, subject: 'Hello', text: 'Hello' })
  await fetch(`http://127.0.0.1:${server.httpPort}/api/emails`, { method: 'POST', headers, body })
}

await send('person@rcpt.example')
await mx.waitForMessages(1)
const token = mx.messages[0]?.mailFrom ?? ''
const domain = token.split('@')[1] ?? ''
const addresses = [token, ...['fbl', 'dmarc-reports', 'tls-reports', 'postmaster'].map((localPart) => `${localPart}@${domain}`)]

let isOver = false
let [othersSent, slowestOther] = [0, 0]
async function othersSend(): Promise<void> {
  while (!isOver) {
    const start = performance.now()
    await send(`other${othersSent++}@rcpt.example`)
    slowestOther = Math.max(slowestOther, performance.now() - start)
    await pause(50)
  }
}
const others = othersSend()

const waiting = (): number => rows<{ count: number }>("select count(*) as count from returned_mail where state = 'received'")[0]?.count ?? 0
let [slowest, worstWait, maxMemory] = [0, 0, 0]

async function hand(text: string, to: string): Promise<number> {
  const client = await SmtpClient.connect(server.returnPathPort)
  await client.command('EHLO hostile.example')
  const { last } = await client.send(text.replaceAll('\r\n.', '\r\n..'), { from: '', to: [to] })
  client.close()
  if (!last.startsWith('250')) throw new Error(`it was not taken: ${last}`)
  const start = performance.now()
  while (waiting() > 0 && performance.now() - start < 60_000) await pause(5)
  return performance.now() - start
}

await health.figures()
for (const [name, text] of Object.entries(hostileMails())) {
  const times: number[] = []
  for (const to of addresses) times.push(await hand(text, to))
  const { worst } = await health.figures()
  slowest = Math.max(slowest, ...times)
  worstWait = Math.max(worstWait, worst)
  maxMemory = Math.max(maxMemory, server.memory())
  console.log(
    `${name}, ${(text.length / 1e6).toFixed(1)} MB: settled in ${times.map((ms) => Math.round(ms)).join(', ')} ms; longest wait ${Math.round(worst)} ms`,
  )
}
isOver = true
await others
const results = rows<{ result: string; count: number }>(
  'select result, count(*) as count from returned_mail group by result order by 2 desc',
)
// Whatever a mail system sends to the address of a recipient's bounces is a report on that one, and soft.
const isDelivered = (): boolean =>
  rows("select id from recipient where state <> 'delivered' and forward_path <> 'person@rcpt.example'").length === 0
for (const end = Date.now() + 30_000; !isDelivered() && Date.now() < end;) await pause(100)
const allDelivered = isDelivered()
const suppressed = rows('select id from suppression').length
const isRunning = server.isRunning
await health.stop()
await server.end('SIGTERM')
await mx.close()
await dns.close()
rmSync(directory, { recursive: true, force: true })

console.log(`results: ${results.map(({ result, count }) => `${count} × ${result}`).join(', ')}`)
console.log(
  `slowest settled in ${Math.round(slowest)} ms, longest wait of a request ${Math.round(worstWait)} ms, most memory ${maxMemory} MB with all processes`,
)
console.log(
  `${othersSent} messages of others, the slowest taken in ${Math.round(slowestOther)} ms; ${allDelivered ? 'all were' : 'NOT all were'} delivered; ${suppressed} suppressions`,
)
const isWithin = slowest < limits.settledMs && worstWait < limits.waitMs && maxMemory < limits.memoryMb
process.exit(isRunning && isWithin && allDelivered && suppressed === 0 ? 0 : 1)
