import { existsSync, readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { openWriter } from '../../src/platform/store/sqlite/sqlite-connection.ts'
import type { FakeEntry } from '../../test/support/fake-dns.ts'
import { copyFaults } from './copy-faults.ts'
import type { Fault } from './fault.ts'
import { zone, type Stage } from './fault-stage.ts'
import { damageFaults } from './damage-faults.ts'
import { fileFaults } from './file-faults.ts'
import { targetFaults } from './target-faults.ts'
import { threadFaults } from './thread-faults.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Mail waits because no name server answers, and the server loses three days: `lose` brings that about. */
const threeDays = (
  name: string,
  lose: (stage: Stage) => Promise<void>,
  more: { isDnsLate?: true; isUndone?: true; isShort?: true },
): Fault => ({
  name,
  ...(more.isShort && { isShort: true }),
  ...(more.isDnsLate && { isTold: 'outage' as const }),
  async strike(stage) {
    const { shim, dns, supervised } = stage
    for (const each of Object.keys(dns.zone)) dns.zone[each] = 'servfail'
    await stage.takes(30)
    if (!more.isDnsLate) Object.assign(dns.zone, zone())
    await lose(stage)
    await stage.isUp()
    await stage.lasts()
    if (more.isDnsLate) Object.assign(dns.zone, zone())
    if (!more.isUndone) return
    await supervised.hold()
    shim.moveClock(0)
    supervised.release()
  },
})

async function whileOff({ shim, supervised }: Stage): Promise<void> {
  await supervised.hold()
  shim.moveClock(3 * day)
  supervised.release()
}

async function whileUp(stage: Stage): Promise<void> {
  stage.shim.moveClock(3 * day)
  await stage.takes(30)
}

const wrongClock: Fault[] = [
  threeDays('clock three days ahead at start', whileOff, { isUndone: true }),
  threeDays('clock three days ahead at start, DNS late', whileOff, { isUndone: true, isDnsLate: true, isShort: true }),
  threeDays('off for three days', whileOff, {}),
  threeDays('off for three days, DNS late', whileOff, { isDnsLate: true, isShort: true }),
  threeDays('clock jumps three days ahead while mail waits, DNS late', whileUp, { isDnsLate: true }),
  threeDays('clock jumps three days ahead and back while mail waits, DNS late', whileUp, { isDnsLate: true, isUndone: true }),
  jump('clock jumps an hour ahead', hour),
  jump('clock jumps back an hour', -hour),
  jump('clock jumps three days ahead', 3 * day),
]

function jump(name: string, ms: number): Fault {
  return {
    name,
    async strike(stage) {
      stage.shim.moveClock(ms)
      await stage.takes(30)
      await stage.lasts()
      stage.shim.moveClock(0)
    },
  }
}

/** Every name is answered for like this, for some time. */
const wrongDns = (name: string, entry: FakeEntry, more: Partial<Fault> = {}): Fault => ({
  name,
  ...more,
  async strike(stage) {
    // The relay doubts a name server only about domains that it has found before.
    await stage.demand('delivering before the fault', () => stage.sink.taken.size >= 30)
    for (const each of Object.keys(stage.dns.zone)) stage.dns.zone[each] = entry
    await stage.takes(30)
    await stage.lasts()
    Object.assign(stage.dns.zone, zone())
  },
  // What an answer alone seems to forbid is asked again after a quarter of an hour.
  async afterwards({ shim, supervised }) {
    await supervised.hold()
    shim.moveClock(20 * minute)
    supervised.release()
  },
})

const brokenDns: Fault[] = [
  wrongDns('DNS: nothing exists', 'nxdomain', { isTold: true, isShort: true }),
  wrongDns('DNS: names without records', {}, { isTold: true }),
  wrongDns('DNS: SERVFAIL', 'servfail'),
  wrongDns('DNS: no answer', 'timeout'),
]

/** More messages than may be in hand at once. */
const unsignable = 1_500

const unreadableKey: Fault = {
  name: 'DKIM key unreadable',
  isShort: true,
  settings: { STERNA_DELIVERY_RETRY_SCHEDULE: '5s' },
  async strike(stage) {
    const { directory, server, supervised, ledger, sink } = stage
    await server.tryCommand('domain', 'add', 'broken.example', '--account', 'campaign')
    await server.tryCommand('domain', 'verify', 'broken.example', '--manual')
    await supervised.hold()
    const keys = changeKeys(directory, (blob) => Uint8Array.from(blob, (byte, place) => (place < 20 ? byte : byte ^ 0xff)))
    supervised.release()
    await stage.isUp()
    await sendUnsignable(server, ledger.acknowledged)
    await stage.lasts()
    const before = new Set(ledger.acknowledged)
    const others = (): number => [...ledger.acknowledged].filter((id) => !before.has(id) && sink.taken.has(id)).length
    await stage.demand("delivering others' mail meanwhile", () => others() > 30, 30)
    await supervised.hold()
    changeKeys(directory, (_, id) => keys.get(id)!)
    supervised.release()
    await stage.isUp()
  },
}

async function sendUnsignable({ httpPort, token }: Stage['server'], acknowledged: Set<string>): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (let sent = 0; sent < unsignable; sent += 100) {
    const ids = Array.from({ length: 100 }, (_, i) => `k${sent + i}`)
    const emails = ids.map((id, i) => ({
      from: 'app@broken.example',
      to: `${id}@rcpt${i % 5}.example`,
      subject: id,
      text: id,
      headers: { 'X-Campaign': id },
    }))
    const answer = await fetch(`http://127.0.0.1:${httpPort}/api/emails/batch`, { method: 'POST', headers, body: JSON.stringify(emails) })
    if (answer.status !== 200) throw new Error(`a batch was answered ${answer.status} ${await answer.text()}`)
    for (const id of ids) acknowledged.add(id)
  }
}

/** Changes the DKIM keys of broken.example in the file; answers what they were, by id. */
function changeKeys(directory: string, changed: (blob: Uint8Array, id: string) => Uint8Array): Map<string, Uint8Array> {
  const connection = openWriter(directory)
  const keys = connection
    .prepare<[], { id: string; private_key: Uint8Array }>(
      `select id, private_key from dkim_key where domain_id in (select id from domain where name = 'broken.example')`,
    )
    .all()
  for (const { id, private_key } of keys)
    connection.prepare('update dkim_key set private_key = ? where id = ?').run(changed(private_key, id), id)
  connection.close()
  return new Map(keys.map(({ id, private_key }) => [id, private_key]))
}

const fewFiles: Fault = {
  name: 'more idle connections than files',
  isShort: true,
  livesOn: true,
  openFiles: 1_024,
  async strike(stage) {
    const { server } = stage
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = (path: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${server.token}` }
        const asking = request({ host: '127.0.0.1', port: server.httpPort, path, headers, agent }, (answer) =>
          answer.resume().on('end', resolve),
        )
        asking.on('error', reject).end()
      })
    await ask('/healthz')
    const idle = Array.from({ length: 1_200 }, () => connect(server.httpPort, '127.0.0.1').on('error', () => {}))
    for (let before = 0; before !== openFilesOf(server.pid); await pause(1_000)) before = openFilesOf(server.pid)
    // A list is read by a thread, which the server may not have started yet; asked for by one who was there before the others.
    await ask('/api/emails').catch(() => {})
    await stage.lasts()
    agent.destroy()
    for (const socket of idle) socket.destroy()
    await stage.takes(1)
  },
}

const openFilesOf = (pid: number): number => (existsSync(`/proc/${pid}/fd`) ? readdirSync(`/proc/${pid}/fd`).length : 0)

/** Faults of everything around the server, by kind. */
export const faults: Fault[] = [
  ...fileFaults,
  ...copyFaults,
  ...damageFaults,
  ...targetFaults,
  ...threadFaults,
  ...wrongClock,
  ...brokenDns,
  unreadableKey,
  fewFiles,
]
