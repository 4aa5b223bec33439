/**
 * Proves that no report that was taken is lost, and none counts twice: each of 300 delivered messages is reported as
 * bounced two times over, by five connections, while the server is killed and started again. Loopback only.
 *
 * node scripts/report-campaign.ts [--kills 5]
 *
 * Exits 0 when every recipient whose report was answered 250 has bounced, with one event and one suppression.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startFakeMx } from '../test/support/fake-mx.ts'
import { composeDsn } from '../test/support/returned-mail.ts'
import { SmtpClient } from '../test/support/smtp-client.ts'
import { rowsIn, until } from './campaign/database-rows.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({ options: { kills: { type: 'string', default: '5' } } })
const kills = Number(values.kills)
const messages = 300

const directory = mkdtempSync(join(tmpdir(), 'sterna-reports-'))
const mx = await startFakeMx({ host: '127.0.0.2' })
const dns = await startFakeDns({ 'rcpt.example': { a: ['127.0.0.2'], ttl: 60 } })
const server = await ServerUnderTest.prepare(directory, dns.server, mx.port, { STERNA_RETURN_PATH_MESSAGES_PER_MINUTE: '0' })
await server.start()

const rows = rowsIn(directory)

async function send(number: number): Promise<void> {
  const email = { from: 'app@sender.example', to: `person${number}@rcpt.example`, subject: 'Hello', text: 'Hello' }
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
  await fetch(`http://127.0.0.1:${server.httpPort}/api/emails`, { method: 'POST', headers, body: JSON.stringify(email) })
}
for (let number = 0; number < messages; number++) await send(number)
await until(() => rows("select id from recipient where state = 'delivered'").length === messages)

const reports = mx.messages.flatMap(({ mailFrom, rcptTo: [recipient = ''] }) => [
  { to: mailFrom, recipient },
  { to: mailFrom, recipient },
])
const taken = new Map<string, number>()

async function connect(): Promise<SmtpClient> {
  const client = await SmtpClient.connect(server.returnPathPort)
  await client.command('EHLO mx.rcpt.example')
  return client
}

/** Tries until the server has answered, as a mail system does. */
async function hand(client: SmtpClient | null, { to, recipient }: { to: string; recipient: string }): Promise<SmtpClient> {
  for (let connection = client; ; connection = null) {
    try {
      connection ??= await connect()
      const { code } = await connection.send(composeDsn({ recipient }), { from: '', to: [to] })
      if (code === 250) taken.set(recipient, (taken.get(recipient) ?? 0) + 1)
      return connection
    } catch {
      connection?.close()
      await pause(20)
    }
  }
}

let next = 0
async function handAll(): Promise<void> {
  let client: SmtpClient | null = null
  for (let report = reports[next++]; report; report = reports[next++]) {
    client = await hand(client, report)
    // Spread over the time of the kills.
    await pause((kills * 1000 * 5) / reports.length)
  }
  client?.close()
}

async function killAll(): Promise<void> {
  for (let kill = 0; kill < kills; kill++) {
    await pause(200 + Math.random() * 800)
    await server.end('SIGKILL')
    await server.start()
  }
}

await Promise.all([killAll(), ...Array.from({ length: 5 }, handAll)])
const waiting = (): number => rows("select id from returned_mail where state = 'received'").length
await until(() => waiting() === 0)
const left = waiting()
const bounced = new Set(
  rows<{ address: string }>("select forward_path as address from recipient where state = 'bounced'").map(({ address }) => address),
)
const events = rows("select id from event where type = 'email.bounced'").length
const suppressions = rows('select id from suppression').length
await server.end('SIGTERM')
await mx.close()
await dns.close()
rmSync(directory, { recursive: true, force: true })

const lost = [...taken.keys()].filter((address) => !bounced.has(address)).length
const count = [...taken.values()].reduce((sum, each) => sum + each, 0)
console.log(
  `${count} reports taken of ${taken.size} messages, ${kills} kills: ${bounced.size} bounced, ${events} events, ${suppressions} suppressions; ${lost} lost, ${left} left`,
)
process.exit(taken.size === messages && lost + left === 0 && events === bounced.size && suppressions === bounced.size ? 0 : 1)
