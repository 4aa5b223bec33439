import { existsSync, readdirSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openReader, openWriter } from '../../src/store/sqlite-connection.ts'
import type { FakeEntry } from '../../test/support/fake-dns.ts'
import { zone } from './fault-stage.ts'
import type { Fault, Stage } from './fault-stage.ts'
import type { FileFault } from './file-shim.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const everyCall: FileFault['calls'] = ['open', 'write', 'truncate', 'flush', 'rename', 'unlink', 'link', 'mkdir']

/** `upTo`: so many calls may succeed before the one that fails. */
type ChosenFault = FileFault & { upTo?: number }

/** Lets calls fail for some time, during which something may be done. */
async function fail({ shim, supervised, demand, random, lasting }: Stage, fault: ChosenFault, during: () => Promise<void> = () => Promise.resolve()): Promise<void> {
  supervised.unwritableSince = performance.now()
  shim.fail({ ...fault, skip: Math.floor(random() * (fault.upTo ?? 1)) })
  await during()
  await demand('struck', () => shim.failed > 0)
  await lasting()
  shim.fail(null)
  await demand('up again', () => supervised.isUp)
  supervised.unwritableSince = null
}

/** Calls fail while the server runs. */
const whileRunning = (name: string, fault: ChosenFault, more: Partial<Fault> = {}): Fault => ({ name, ...more, strike: (stage) => fail(stage, fault) })

/** Calls fail while the server stops and starts again. */
const overRestart = (name: string, fault: ChosenFault, more: Partial<Fault> = {}): Fault => ({
  name,
  ...more,
  strike: (stage) =>
    fail(stage, fault, async () => {
      await stage.supervised.hold()
      stage.supervised.release()
    }),
})

/** Calls fail while a server starts that was killed. */
const atStart = (name: string, fault: ChosenFault, more: Partial<Fault> = {}): Fault => ({
  name,
  ...more,
  async strike(stage) {
    await stage.supervised.hold('SIGKILL')
    await fail(stage, fault, () => Promise.resolve(stage.supervised.release()))
  },
})

/** Something is wrong with the files of a server that is not running: it must not start. */
const whileStopped = (name: string, breakIt: (stage: Stage) => () => void, more: Partial<Fault> = {}): Fault => ({
  name,
  isRefused: true,
  ...more,
  async strike(stage) {
    const { supervised, demand } = stage
    await supervised.hold('SIGKILL')
    const mend = breakIt(stage)
    supervised.release()
    await demand('started or refused', () => supervised.endings.length > 0 || supervised.isUp)
    await supervised.hold()
    mend()
    supervised.release()
    await demand('up again', () => supervised.isUp)
  },
})

function databaseIn(directory: string): string {
  const connection = openReader(directory)
  connection.close()
  return connection.name
}

const putAside = (path: string): (() => void) => {
  renameSync(path, `${path}.aside`)
  return () => renameSync(`${path}.aside`, path)
}

/** Every name is answered for like this, for some time. */
const wrongDns = (name: string, entry: FakeEntry, more: Partial<Fault> = {}): Fault => ({
  name,
  ...more,
  async strike({ dns, takes, lasting }) {
    for (const each of Object.keys(dns.zone)) dns.zone[each] = entry
    await takes(30)
    await lasting()
    Object.assign(dns.zone, zone())
  },
  // What an answer alone seems to forbid is asked again after a quarter of an hour.
  async afterwards({ shim, supervised }) {
    await supervised.hold()
    shim.moveClock(20 * minute)
    supervised.release()
  },
})

const eio = (calls: FileFault['calls'], path: string, more: Partial<ChosenFault> = {}): ChosenFault => ({ error: 'EIO', calls, path, ...more })
/** One call fails, another one each time. */
const oneOf = (upTo: number): Partial<ChosenFault> => ({ upTo, times: 1 })

const failingDisk: Fault[] = [
  whileRunning('EIO: a flush of the WAL', eio(['flush'], '.db-wal', oneOf(20)), { isShort: true }),
  whileRunning('EIO: a write of the WAL', eio(['write'], '.db-wal', oneOf(200))),
  whileRunning('EIO: every write', eio(['write'], '/root/data/'), { isTold: true }),
  whileRunning('EIO: every flush', eio(['flush'], '/root/data/'), { isTold: true }),
  atStart('EIO: a read of the WAL', eio(['read'], '.db-wal', oneOf(10))),
  atStart('EIO: a read of the database', eio(['read'], '.db$', oneOf(10))),
  overRestart('EIO: a write of the database', eio(['write'], '.db$', oneOf(10))),
  overRestart('EIO: a flush of the database', eio(['flush'], '.db$', { times: 1 })),
  atStart('EIO: reading the key file', eio(['read'], 'secret.key'), { isRefused: true }),
  atStart('EIO: the lock', eio(['read', 'write', 'open'], '/root/data/lock'), { isRefused: true }),
]

const noSpace = (path: string): FileFault => ({ error: 'ENOSPC', calls: ['write', 'truncate'], path })
const fullDisk: Fault[] = [
  whileRunning('ENOSPC: the WAL', noSpace('.db-wal'), { isTold: true, isShort: true }),
  atStart('ENOSPC: shared memory', noSpace('.db-shm')),
  overRestart('ENOSPC: the database', noSpace('.db$')),
  overRestart('ENOSPC: everything', noSpace('/root/data/'), { isTold: true }),
]

const closedFileSystem: Fault[] = [
  whileRunning('file system read-only', { error: 'EROFS', calls: everyCall, path: '/root/data/' }, { isTold: true }),
  atStart('file system read-only at start', { error: 'EROFS', calls: everyCall, path: '/root/data' }, { isTold: true, isRefused: true, isShort: true }),
  atStart('directory of somebody else at start', { error: 'EACCES', calls: ['open', ...everyCall], path: '/root/data' }, { isTold: true, isRefused: true }),
  {
    name: 'no temporary directory',
    settings: { SQLITE_TMPDIR: '/var/tmp' },
    livesOn: true,
    async strike({ shim, server, takes }) {
      for (let number = 0; number < 30; number++) await postSpread(server)
      shim.fail({ error: 'EROFS', calls: ['open'], path: '/var/tmp' })
      for (let number = 0; number < 20; number++) await refuseOne(server).catch(() => pause(50))
      await takes(1)
      shim.fail(null)
    },
  },
  {
    name: 'database moved away and back',
    isTold: true,
    async strike({ directory, lasting }) {
      const back = putAside(databaseIn(directory))
      await lasting()
      back()
    },
  },
]

/** Posts as somebody who may send; answers the ids that it made. */
async function post({ httpPort, token }: Stage['server'], path: string, body?: object): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) })
  const { data = [] } = (await answer.json()) as { data?: { id: string }[] }
  return data.map(({ id }) => id)
}

/** A hundred emails for later, whose rows lie all over an index: behind a savepoint, SQLite keeps so many changes in a temporary file. */
function postSpread(server: Stage['server']): Promise<string[]> {
  const scheduled_at = new Date(Date.now() + hour).toISOString()
  const to = (): string => `later@${randomBytes(6).toString('hex')}.example`
  const emails = Array.from({ length: 100 }, () => ({ from: 'app@sender.example', to: to(), subject: 'later', text: 'later', scheduled_at }))
  return post(server, '/api/emails/batch', emails)
}

/** Two cancel an email at once, and one of them is refused: that group and the next ones are written with savepoints. */
async function refuseOne(server: Stage['server']): Promise<void> {
  const [id] = await postSpread(server)
  const cancel = (): Promise<unknown> => post(server, `/api/emails/${id}/cancel`)
  await Promise.allSettled([cancel(), cancel(), postSpread(server)])
}

const damagedFiles: Fault[] = [
  whileStopped('key file missing', ({ directory }) => putAside(join(directory, 'secret.key')), { isShort: true }),
  whileStopped('key file of another server', ({ directory }) => {
    const path = join(directory, 'secret.key')
    const back = putAside(path)
    writeFileSync(path, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
    return back
  }),
  whileStopped('database missing', ({ directory }) => putAside(databaseIn(directory))),
  whileStopped('database empty', ({ directory }) => {
    const path = databaseIn(directory)
    const back = putAside(path)
    writeFileSync(path, '')
    return back
  }),
  whileStopped('database cut off', ({ directory }) => {
    const path = databaseIn(directory)
    // It is whole once more, and the WAL in the database.
    openWriter(directory).close()
    const back = putAside(path)
    writeFileSync(path, '')
    truncateSync(path, 50_000)
    return back
  }),
  {
    name: 'another process holds the lock of the database',
    isTold: true,
    isShort: true,
    async strike({ directory, lasting }) {
      const other = openWriter(directory)
      other.exec('begin immediate')
      await pause(9_000)
      await lasting()
      other.exec('rollback')
      other.close()
    },
  },
]

const wrongClock: Fault[] = [
  {
    name: 'clock three days ahead at start',
    isShort: true,
    async strike({ shim, dns, supervised, takes, lasting, demand }) {
      for (const name of Object.keys(dns.zone)) dns.zone[name] = 'servfail'
      await takes(30)
      await supervised.hold()
      Object.assign(dns.zone, zone())
      shim.moveClock(3 * day)
      supervised.release()
      await demand('up with a wrong clock', () => supervised.isUp)
      await lasting()
      await supervised.hold()
      shim.moveClock(0)
      supervised.release()
    },
  },
  jump('clock jumps an hour ahead', hour),
  jump('clock jumps back an hour', -hour),
  jump('clock jumps three days ahead', 3 * day),
]

function jump(name: string, ms: number): Fault {
  return {
    name,
    async strike({ shim, takes, lasting }) {
      shim.moveClock(ms)
      await takes(30)
      await lasting()
      shim.moveClock(0)
    },
  }
}

const brokenDns: Fault[] = [
  wrongDns('DNS: nothing exists', 'nxdomain', { isShort: true }),
  wrongDns('DNS: names without records', {}),
  wrongDns('DNS: SERVFAIL', 'servfail'),
  wrongDns('DNS: no answer', 'timeout'),
]

/** More messages than may be in hand at once. */
const unsignable = 1_500

const unreadableKey: Fault = {
  name: 'DKIM key unreadable',
  isShort: true,
  settings: { STERNA_DELIVERY_RETRY_SCHEDULE: '5s' },
  async strike({ directory, server, supervised, ledger, sink, demand, lasting }) {
    await server.tryCommand('domain', 'add', 'broken.example', '--account', 'campaign')
    await server.tryCommand('domain', 'verify', 'broken.example', '--manual')
    await supervised.hold()
    const keys = changeKeys(directory, (blob) => Uint8Array.from(blob, (byte, place) => (place < 20 ? byte : byte ^ 0xff)))
    supervised.release()
    await demand('up with the key', () => supervised.isUp)
    await sendUnsignable(server, ledger.acknowledged)
    await lasting()
    const before = new Set(ledger.acknowledged)
    const others = (): number => [...ledger.acknowledged].filter((id) => !before.has(id) && sink.taken.has(id)).length
    await demand('delivering others\' mail meanwhile', () => others() > 30, 30)
    await supervised.hold()
    changeKeys(directory, (_, id) => keys.get(id)!)
    supervised.release()
    await demand('up again', () => supervised.isUp)
  },
}

async function sendUnsignable({ httpPort, token }: Stage['server'], acknowledged: Set<string>): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (let sent = 0; sent < unsignable; sent += 100) {
    const ids = Array.from({ length: 100 }, (_, i) => `k${sent + i}`)
    const emails = ids.map((id, i) => ({ from: 'app@broken.example', to: `${id}@rcpt${i % 5}.example`, subject: id, text: id, headers: { 'X-Campaign': id } }))
    const answer = await fetch(`http://127.0.0.1:${httpPort}/api/emails/batch`, { method: 'POST', headers, body: JSON.stringify(emails) })
    if (answer.status !== 200) throw new Error(`a batch was answered ${answer.status} ${await answer.text()}`)
    for (const id of ids) acknowledged.add(id)
  }
}

/** Changes the DKIM keys of broken.example in the file; answers what they were, by id. */
function changeKeys(directory: string, changed: (blob: Uint8Array, id: string) => Uint8Array): Map<string, Uint8Array> {
  const connection = openWriter(directory)
  const keys = connection
    .prepare<[], { id: string; private_key: Uint8Array }>(`select id, private_key from dkim_key where domain_id in (select id from domain where name = 'broken.example')`)
    .all()
  for (const { id, private_key } of keys) connection.prepare('update dkim_key set private_key = ? where id = ?').run(changed(private_key, id), id)
  connection.close()
  return new Map(keys.map(({ id, private_key }) => [id, private_key]))
}

const fewFiles: Fault = {
  name: 'more idle connections than files',
  isShort: true,
  livesOn: true,
  openFiles: 1_024,
  async strike({ server, takes, lasting }) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = (path: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${server.token}` }
        const asking = request({ host: '127.0.0.1', port: server.httpPort, path, headers, agent }, (answer) => answer.resume().on('end', resolve))
        asking.on('error', reject).end()
      })
    await ask('/healthz')
    const idle = Array.from({ length: 1_200 }, () => connect(server.httpPort, '127.0.0.1').on('error', () => {}))
    for (let before = 0; before !== openFilesOf(server.pid); await pause(1_000)) before = openFilesOf(server.pid)
    // A list is read by a thread, which the server may not have started yet; asked for by one who was there before the others.
    await ask('/api/emails').catch(() => {})
    await lasting()
    agent.destroy()
    for (const socket of idle) socket.destroy()
    await takes(1)
  },
}

const openFilesOf = (pid: number): number => (existsSync(`/proc/${pid}/fd`) ? readdirSync(`/proc/${pid}/fd`).length : 0)

/** Faults of everything around the server, by kind. */
export const faults: Fault[] = [
  ...failingDisk,
  ...fullDisk,
  ...closedFileSystem,
  ...damagedFiles,
  ...wrongClock,
  ...brokenDns,
  unreadableKey,
  fewFiles,
]
