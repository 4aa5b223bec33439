/**
 * Proves that forged reports change nothing: bounces and complaints with tokens that are wrong, of somebody else, used
 * already or too old are handed to the return path of a real server by ten connections. Loopback only.
 *
 * node scripts/forged-reports.ts [--count 100000]
 *
 * Exits 0 when no recipient, suppression, event or webhook delivery is other than it was before, and every report that
 * was taken is settled.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openKeyFile } from '../src/senders/account/key-file.ts'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startFakeMx } from '../test/support/fake-mx.ts'
import { composeComplaint, composeDsn, headerOf, returnMail } from '../test/support/returned-mail.ts'
import { SmtpClient } from '../test/support/smtp-client.ts'
import { forgeries, type KnownRecipient } from './campaign/forged-reports.ts'
import { rowsIn, until } from './campaign/database-rows.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({ options: { count: { type: 'string', default: '100000' } } })
const count = Number(values.count)
const connections = 10

const directory = mkdtempSync(join(tmpdir(), 'sterna-forged-'))
const mx = await startFakeMx({
  host: '127.0.0.2',
  on: { rcpt: (address) => (address.startsWith('waiting') ? '451 4.7.1 Later' : undefined) },
})
const dns = await startFakeDns({ 'rcpt.example': { a: ['127.0.0.2'], ttl: 60 } })
const server = await ServerUnderTest.prepare(directory, dns.server, mx.port, {
  STERNA_DELIVERY_RETRY_SCHEDULE: '1h',
  STERNA_RETURN_PATH_MESSAGES_PER_MINUTE: '0',
  // All of them come from one address.
  STERNA_RETURN_PATH_STORAGE_LIMIT: '64GB',
})
await server.start()

const rows = rowsIn(directory)

const recipientsIn = (state: string): KnownRecipient[] =>
  rows<KnownRecipient>(
    `select r.id, r.forward_path as address, m.created_at as createdAt from recipient r join message m on m.id = r.message_id where r.state = '${state}'`,
  )
const mailTo = (address: string) => mx.messages.find(({ rcptTo }) => rcptTo[0] === address)!

async function send(name: string, number: number): Promise<void> {
  for (let i = 0; i < number; i++) {
    const email = { from: 'app@sender.example', to: `${name}${i}@rcpt.example`, subject: 'Hello', text: 'Hello' }
    const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
    await fetch(`http://127.0.0.1:${server.httpPort}/api/emails`, { method: 'POST', headers, body: JSON.stringify(email) })
  }
}

// What is genuine comes first: mail that stays delivered, bounces, is complained about, and waits.
await send('person', 30)
await send('bounced', 3)
await send('complained', 3)
await send('waiting', 3)
await until(() => recipientsIn('delivered').length === 36 && recipientsIn('deferred').length === 3)
for (const { address } of recipientsIn('delivered')) {
  const { mailFrom, data } = mailTo(address)
  if (address.startsWith('bounced')) await returnMail(server.returnPathPort, mailFrom, [composeDsn({ recipient: address })])
  if (address.startsWith('complained')) await returnMail(server.returnPathPort, mailFrom, [composeComplaint({ original: headerOf(data) })])
}
await until(() => recipientsIn('bounced').length === 3 && recipientsIn('complained').length === 3)

const state = (): string =>
  JSON.stringify([
    rows('select * from recipient order by id'),
    rows('select * from suppression order by id'),
    rows('select id, type, data from event order by seq'),
    rows('select id from webhook_delivery order by id'),
  ])
const before = state()
const [first] = mx.messages
const kinds = Object.entries(
  forgeries({
    tokenKey: openKeyFile(join(directory, 'secret.key')).deriveKey('verp'),
    domain: first!.mailFrom.split('@')[1]!,
    delivered: recipientsIn('delivered'),
    waiting: recipientsIn('deferred'),
    bounced: recipientsIn('bounced'),
    complained: recipientsIn('complained'),
  }),
)
const earlier = rows<{ id: string }>('select id from returned_mail').length

const answers = new Map<string, Map<number, number>>()
const startedAt = performance.now()

async function connect(): Promise<SmtpClient> {
  const client = await SmtpClient.connect(server.returnPathPort)
  await client.command('EHLO forger.example')
  return client
}

async function forge(connection: number): Promise<void> {
  let client = await connect()
  for (let number = connection; number < count; number += connections) {
    const [kind, compose] = kinds[number % kinds.length]!
    const { to, text } = compose()
    let { code } = await client.send(text, { from: '', to: [to] })
    // Nobody may give so many commands without a message.
    if (code >= 400 && (await client.command('RSET')).code === 421) {
      client.close()
      client = await connect()
      if (code === 421) ({ code } = await client.send(text, { from: '', to: [to] }))
    }
    const ofKind = answers.get(kind) ?? new Map<number, number>()
    answers.set(kind, ofKind.set(code, (ofKind.get(code) ?? 0) + 1))
  }
  client.close()
}
await Promise.all(Array.from({ length: connections }, (_, connection) => forge(connection)))
const sentMs = performance.now() - startedAt
const waiting = (): number =>
  rows<{ waiting: number }>("select count(*) as waiting from returned_mail where state = 'received'")[0]!.waiting
for (const deadline = Date.now() + 600_000; waiting() > 0 && Date.now() < deadline;) await pause(200)
const settledMs = performance.now() - startedAt
const left = waiting()
const isUnchanged = state() === before
const results = rows<{ result: string; number: number }>(
  'select result, count(*) as number from returned_mail group by result order by 2 desc',
)
const taken = rows<{ id: string }>('select id from returned_mail').length - earlier
await server.end('SIGTERM')
dns.close()
await mx.close()
rmSync(directory, { recursive: true, force: true })

for (const [kind, codes] of answers) console.log(`${kind}: ${[...codes].map(([code, number]) => `${number} × ${code}`).join(', ')}`)
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
console.log(`${count} forged reports in ${seconds(sentMs)}, ${taken} taken, all settled after ${seconds(settledMs)}, ${left} left`)
console.log(`results, the six genuine ones among them: ${results.map(({ result, number }) => `${number} × ${result}`).join(', ')}`)
console.log(isUnchanged ? 'no recipient, suppression, event or webhook delivery has changed' : 'NOT: something has changed')
process.exit(isUnchanged && left === 0 && taken > 0 ? 0 : 1)
