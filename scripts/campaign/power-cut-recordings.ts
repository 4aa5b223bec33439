import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { migrations } from '../../src/platform/store/schema-steps.ts'
import { migrate } from '../../src/platform/store/sqlite/migrate.ts'
import { openWriter } from '../../src/platform/store/sqlite/sqlite-connection.ts'
import { until } from './database-rows.ts'
import { FileShim, type FileRecord } from './file-shim.ts'
import { startMixedLoad, type LoadSettings } from './mixed-load.ts'
import type { ServerUnderTest } from './server-under-test.ts'
import { examineByStart, judgeEnding, thingsIn, type Things, type Verdict } from './state-examination.ts'

/** A piece of a server's life, with what it did to its disk. */
export interface Recording {
  name: string
  /** What is below `root` in `before` was there when it began. */
  root: string
  before: string
  records: FileRecord[]
  /** Cuts fall behind these records, from the first to the last place. */
  cuts: { from: number; to: number }
  /** Up to this place of the log a state may be refused: nothing has been acknowledged that another start would not find. */
  mayRefuseUntil: number
  /** Starts a state, or does what else it is for. `position`: of the log, at the cut. */
  examine(state: string, position: number): Promise<Verdict>
}

/** What all recordings begin with. */
export interface RecordingBase {
  /** A server whose settings the others have. */
  prepared: ServerUnderTest
  /** Its data directory. */
  data: string
  /** Where recordings and their logs go. */
  work: string
  /** The compiled file shim. */
  library: string
}

/** A place of the log before which something was promised. */
interface Promised {
  position: number
  thing: string
}

const always: Things = ['account campaign']
const load: LoadSettings = { smtpClients: 4, httpClients: 4, size: 4_000 }

const promisedBy = (promised: Promised[], position: number): string[] =>
  promised.filter((each) => each.position <= position).map(({ thing }) => thing)

const placeOf = (records: FileRecord[], position: number): number => {
  const place = records.findIndex(({ end }) => end > position)
  return place < 0 ? records.length : place
}

/** A root directory with what `fill` puts there, and the shim that records it. */
function startRecording({ work, library }: RecordingBase, name: string, fill: (root: string) => void) {
  const [root, before] = [join(work, name), join(work, `${name}-before`)]
  mkdirSync(root)
  fill(root)
  cpSync(root, before, { recursive: true })
  mkdirSync(join(work, `${name}-shim`))
  return { name, root, before, shim: new FileShim(library, join(work, `${name}-shim`), root) }
}

/** A server under load, and its stop while messages are coming in. */
export async function recordLoad(base: RecordingBase, messages: number): Promise<Recording[]> {
  const { root, before, shim } = startRecording(base, 'load', (root) => cpSync(base.data, join(root, 'data'), { recursive: true }))
  const server = await base.prepared.on(join(root, 'data'), shim.environment)
  await server.start()
  const promised: Promised[] = []
  const { stop } = startMixedLoad(server, { ...load, onAcknowledged: (thing) => promised.push({ position: shim.position, thing }) })
  await until(() => promised.length >= messages)
  const stopsAt = shim.position
  await Promise.all([server.end('SIGTERM'), stop()])
  const records = shim.records()
  const examine = async (state: string, position: number): Promise<Verdict> => {
    const directory = join(state, 'data')
    return examineByStart(base.prepared, directory, [[...always, ...promisedBy(promised, position)]])
  }
  const stops = placeOf(records, stopsAt)
  const common = { root, before, records, examine, mayRefuseUntil: 0 }
  return [
    { ...common, name: 'load', cuts: { from: 0, to: stops } },
    { ...common, name: 'stop', cuts: { from: stops, to: records.length } },
  ]
}

/** A server that begins with nothing, up to its first messages. */
export async function recordFirstStart(base: RecordingBase): Promise<Recording> {
  const { name, root, before, shim } = startRecording(base, 'first-start', () => {})
  const server = await base.prepared.on(join(root, 'data'), shim.environment)
  await server.start()
  await until(() => /sterna_test_\w+/.test(server.said))
  const promised: Promised[] = [{ position: shim.position, thing: 'account default' }]
  const token = /sterna_test_\w+/.exec(server.said)?.[0] ?? ''
  for (let number = 0; number < 5; number++) {
    const response = await fetch(`http://127.0.0.1:${server.httpPort}/api/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ from: 'me@sender.example', to: `f${number}@simulator.test`, subject: 'first', text: 'first' }),
    })
    if (response.status !== 200) throw new Error(`the first message was answered ${response.status} ${await response.text()}`)
    promised.push({ position: shim.position, thing: `f${number}` })
  }
  await server.end('SIGKILL')
  const records = shim.records()
  const examine = async (state: string, position: number): Promise<Verdict> => {
    const directory = join(state, 'data')
    return examineByStart(base.prepared, directory, [promisedBy(promised, position)])
  }
  return { name, root, before, records, cuts: { from: 0, to: records.length }, mayRefuseUntil: 0, examine }
}

/** A database of the first schema, which a server brings up to date at its start. */
export async function recordMigration(base: RecordingBase): Promise<Recording> {
  const things: string[] = []
  const { name, root, before, shim } = startRecording(base, 'migration', (root) => things.push(...makeOldDatabase(join(root, 'data'))))
  const server = await base.prepared.on(join(root, 'data'), shim.environment)
  await server.start()
  await server.end('SIGTERM')
  const records = shim.records()
  const examine = async (state: string): Promise<Verdict> => {
    const directory = join(state, 'data')
    return examineByStart(base.prepared, directory, [things])
  }
  return { name, root, before, records, cuts: { from: 0, to: records.length }, mayRefuseUntil: 0, examine }
}

/** Fills a data directory as the first version would have; answers what it holds. */
function makeOldDatabase(directory: string): string[] {
  const connection = openWriter(directory)
  migrate(connection, migrations().slice(0, 1))
  connection.exec(`insert into account (id, name, plan, status, created_at) values ('acc_1', 'campaign', 'starter', 'active', 1)`)
  const message = connection.prepare(
    `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject, message_id_header, size, body_type, smtputf8,
       tags, metadata, created_at)
     values (?, 'acc_1', 'api', 1, 'a@sender.example', '[]', '[]', '[]', 'old', '<old@sender.example>', 2000, '7bit', 0, '[]', '{}', ?)`,
  )
  const content = connection.prepare('insert into content (message_id, chunk, bytes) values (?, 0, ?)')
  const recipient = connection.prepare(
    `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at)
     values (?, ?, 'acc_1', ?, 'simulator.test', 'to', 'delivered', ?)`,
  )
  const things = Array.from({ length: 200 }, (_, number) => `old${number}`)
  connection.transaction(() => {
    for (const thing of things) {
      message.run(`msg_${thing}`, Date.now())
      content.run(`msg_${thing}`, randomBytes(2000))
      recipient.run(`rcp_${thing}`, `msg_${thing}`, `${thing}@simulator.test`, Date.now() + 1e8)
    }
  })()
  connection.close()
  writeFileSync(join(directory, 'secret.key'), `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  return [...always, ...things]
}

/** A backup of a server under load. */
export async function recordBackup(base: RecordingBase): Promise<Recording> {
  const { name, root, before, shim } = startRecording(base, 'backup', (root) => {
    cpSync(base.data, join(root, 'data'), { recursive: true })
    mkdirSync(join(root, 'backups'))
  })
  const server = await base.prepared.on(join(root, 'data'), shim.environment)
  await server.start()
  const { ledger, stop } = startMixedLoad(server, load)
  await until(() => ledger.acknowledged.size >= 40)
  const things = [...always, ...ledger.acknowledged]
  const begins = shim.position
  const { code, stderr } = await server.tryCommand('backup', join(root, 'backups/copy.db'), '--with-key')
  if (code !== 0) throw new Error(`the backup failed: ${stderr}`)
  const acknowledgedAt = shim.position
  await pause(200)
  await Promise.all([server.end('SIGKILL'), stop()])
  const records = shim.records()
  const examine = async (state: string): Promise<Verdict> => {
    const directory = join(state, 'restored')
    const target = await base.prepared.on(directory)
    const copy = join(state, 'backups/copy.db')
    if (!existsSync(copy)) return { fate: 'refused', words: 'there is no backup' }
    const ending = await target.tryCommand('restore', copy)
    return ending.code === 0 ? examineByStart(base.prepared, directory, [things]) : judgeEnding(ending)
  }
  return {
    name,
    root,
    before,
    records,
    cuts: { from: placeOf(records, begins), to: records.length },
    mayRefuseUntil: acknowledgedAt,
    examine,
  }
}

/** A backup put back into an empty directory, and over the data of a killed server, whose newest messages are in its WAL only. */
export async function recordRestores(base: RecordingBase): Promise<Recording[]> {
  const killed = join(base.work, 'killed')
  await makeBackupAndKill(base, killed)
  return [await recordRestore(base, killed, { isForced: false }), await recordRestore(base, killed, { isForced: true })]
}

async function recordRestore(base: RecordingBase, killed: string, { isForced }: { isForced: boolean }): Promise<Recording> {
  const { name, root, before, shim } = startRecording(base, isForced ? 'restore-over' : 'restore', (root) => {
    cpSync(join(killed, 'backups'), join(root, 'backups'), { recursive: true })
    if (isForced) cpSync(join(killed, 'data'), join(root, 'data'), { recursive: true })
  })
  const restore = ['restore', ...(isForced ? ['--force'] : [])]
  const server = await base.prepared.on(join(root, 'data'), shim.environment)
  const old = isForced ? thingsIn(join(root, 'data')) : []
  const begins = shim.position
  const { code, stderr } = await server.tryCommand(...restore, join(root, 'backups/copy.db'))
  if (code !== 0) throw new Error(`the restore failed: ${stderr}`)
  const acknowledgedAt = shim.position
  const restored = thingsIn(join(root, 'data'))
  const records = shim.records()
  const examine = async (state: string, position: number): Promise<Verdict> => {
    const directory = join(state, 'data')
    const target = await base.prepared.on(directory)
    const verdict = await examineByStart(base.prepared, directory, position < acknowledgedAt ? [old, restored] : [restored])
    if (verdict.fate !== 'refused' || position >= acknowledgedAt) return verdict
    // What is refused has to be mended by doing it again.
    const again = await target.tryCommand('restore', '--force', join(state, 'backups/copy.db'))
    if (again.code !== 0) return { fate: 'lost', words: `neither starts (${verdict.words}) nor can be restored again (${again.stderr})` }
    const after = await examineByStart(base.prepared, directory, [restored])
    return after.fate === 'whole' ? verdict : { ...after, words: `restored again: ${after.words}` }
  }
  return {
    name,
    root,
    before,
    records,
    cuts: { from: placeOf(records, begins), to: records.length },
    mayRefuseUntil: acknowledgedAt,
    examine,
  }
}

async function makeBackupAndKill({ prepared, data }: RecordingBase, directory: string): Promise<void> {
  mkdirSync(join(directory, 'backups'), { recursive: true })
  cpSync(data, join(directory, 'data'), { recursive: true })
  const server = await prepared.on(join(directory, 'data'))
  await server.start()
  const { ledger, stop } = startMixedLoad(server, load)
  await until(() => ledger.acknowledged.size >= 20)
  const { code, stderr } = await server.tryCommand('backup', join(directory, 'backups/copy.db'), '--with-key')
  if (code !== 0) throw new Error(`the backup failed: ${stderr}`)
  const size = ledger.acknowledged.size
  await until(() => ledger.acknowledged.size >= size + 20)
  await Promise.all([server.end('SIGKILL'), stop()])
}
