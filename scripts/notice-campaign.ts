/**
 * Proves that those who submit by SMTP are told of each failure once: a real server whose mail is all refused is killed
 * (SIGKILL) at random moments and started again, and each acknowledged message must have its notice. Loopback only, bounded.
 *
 * node scripts/notice-campaign.ts [--kills 20]
 *
 * Exits 0 when every notice arrived, and no more arrived twice than were in doubt at the kills.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startFakeMx } from '../test/support/fake-mx.ts'
import { SmtpClient } from '../test/support/smtp-client.ts'
import { startLedgerSink } from './campaign/ledger-sink.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({ options: { kills: { type: 'string', default: '20' } } })
const kills = Number(values.kills)
const clients = 4

const directory = mkdtempSync(join(tmpdir(), 'sterna-notices-'))
const inbox = await startLedgerSink('127.0.0.2')
const refuser = await startFakeMx({ host: '127.0.0.3', port: inbox.port, on: { rcpt: () => '550 5.1.1 No such user' } })
const dns = await startFakeDns({
  'sender.example': { mx: [[10, 'inbox.example']] },
  'inbox.example': { a: ['127.0.0.2'] },
  'rcpt.example': { mx: [[10, 'refuser.example']] },
  'refuser.example': { a: ['127.0.0.3'] },
})
const server = await ServerUnderTest.prepare(directory, dns.server, inbox.port)
server.command('account', 'notices', 'campaign', 'on')

const acknowledged = new Set<string>()
const unknown = new Set<string>()
let isOver = false
let last = 0

/** Submits one message after the other, over a new connection whenever the server has gone. */
async function submitAll(): Promise<void> {
  while (!isOver) {
    let id = ''
    try {
      const client = await SmtpClient.connect(server.submissionPort)
      await client.login(server.token)
      while (!isOver) {
        id = String(++last)
        const message = `From: app@sender.example\r\nX-Campaign: ${id}\r\n\r\nHello`
        const { code } = await client.send(message, { from: 'bounces@sender.example', to: [`n${id}@rcpt.example`] })
        if (code === 250) acknowledged.add(id)
        id = ''
        // What nobody can keep up with would be told of long after the end.
        await pause(10)
      }
      client.close()
    } catch {
      if (id !== '') unknown.add(id)
      await pause(20)
    }
  }
}

await server.start()
const load = Array.from({ length: clients }, submitAll)
let inDoubt = 0
for (let kill = 0; kill < kills; kill++) {
  await pause(300 + Math.random() * 900)
  inDoubt += inbox.inDoubt()
  await server.end('SIGKILL')
  await server.start()
}
await pause(500)
isOver = true
await Promise.all(load)
const missing = (): string[] => [...acknowledged].filter((id) => !inbox.taken.has(id))
for (const deadline = performance.now() + 300_000; missing().length > 0 && performance.now() < deadline;) await pause(100)
await pause(1_000)
await server.end('SIGTERM')

const untold = missing()
const twice = [...inbox.taken.values()].reduce((sum, times) => sum + times - 1, 0)
const unasked = [...inbox.taken.keys()].filter((id) => !acknowledged.has(id) && !unknown.has(id))
console.log(
  `${kills} kills: ${acknowledged.size} failed, ${untold.length} without a notice, ${twice} told twice (${inDoubt} in doubt at the kills)`,
)
await Promise.all([dns.close(), refuser.close()])
inbox.close()
rmSync(directory, { recursive: true, force: true })
const isGood = untold.length === 0 && twice <= inDoubt && unasked.length === 0 && acknowledged.size > 0
if (!isGood) console.error('FAILED', { untold: untold.slice(0, 20), unasked: unasked.slice(0, 20), twice, inDoubt })
process.exit(isGood ? 0 : 1)
