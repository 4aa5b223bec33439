import { randomBytes } from 'node:crypto'
import { renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openReader, openWriter } from '../../src/platform/store/sqlite/sqlite-connection.ts'
import type { Fault } from './fault.ts'
import type { Stage } from './fault-stage.ts'
import type { FileFault } from './file-shim.ts'

/** `upTo`: so many calls may succeed before the one that fails. */
type ChosenFault = FileFault & { upTo?: number }

/** Lets calls fail for some time, during which something may be done. */
async function fail(stage: Stage, fault: ChosenFault, during: () => Promise<void> = () => Promise.resolve()): Promise<void> {
  const { shim, supervised, random } = stage
  supervised.unwritableSince = performance.now()
  shim.fail({ ...fault, skip: Math.floor(random() * (fault.upTo ?? 1)) })
  await during()
  await stage.demand('struck', () => shim.failed > 0)
  await stage.lasts()
  shim.fail(null)
  await stage.isUp()
  supervised.unwritableSince = null
}

/** Calls fail while the server runs. */
const whileRunning = (name: string, fault: ChosenFault, more: Partial<Fault> = {}): Fault => ({
  name,
  ...more,
  strike: (stage) => fail(stage, fault),
})

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
    const { supervised } = stage
    await supervised.hold('SIGKILL')
    const mend = breakIt(stage)
    supervised.release()
    await stage.demand('started or refused', () => supervised.endings.length > 0 || supervised.isUp)
    await supervised.hold()
    mend()
    supervised.release()
    await stage.isUp()
  },
})

function databaseIn(directory: string): string {
  const connection = openReader(directory)
  connection.close()
  return connection.name
}

/** Answers what brings it back. */
const putAside = (path: string): (() => void) => {
  renameSync(path, `${path}.aside`)
  return () => renameSync(`${path}.aside`, path)
}

const everyCall: FileFault['calls'] = ['open', 'write', 'truncate', 'flush', 'rename', 'unlink', 'link', 'mkdir']

const eio = (calls: FileFault['calls'], path: string, more: Partial<ChosenFault> = {}): ChosenFault => ({
  error: 'EIO',
  calls,
  path,
  ...more,
})
/** One call fails, another one each time. */
const oneOf = (upTo: number): Partial<ChosenFault> => ({ upTo, times: 1 })

const failingDisk: Fault[] = [
  whileRunning('EIO: a flush of the WAL', eio(['flush'], '.db-wal', oneOf(20)), { isShort: true }),
  whileRunning('EIO: a write of the WAL', eio(['write'], '.db-wal', oneOf(200))),
  whileRunning('EIO: every write', eio(['write'], '/server/data/'), { isTold: true }),
  whileRunning('EIO: every flush', eio(['flush'], '/server/data/'), { isTold: true }),
  atStart('EIO: a read of the WAL', eio(['read'], '.db-wal', oneOf(10))),
  atStart('EIO: a read of the database', eio(['read'], '.db$', oneOf(10))),
  overRestart('EIO: a write of the database', eio(['write'], '.db$', oneOf(10))),
  overRestart('EIO: a flush of the database', eio(['flush'], '.db$', { times: 1 })),
  atStart('EIO: reading the key file', eio(['read'], 'secret.key'), { isRefused: true }),
  atStart('EIO: the lock', eio(['read', 'write', 'open'], '/server/data/lock'), { isRefused: true }),
]

const noSpace = (path: string): FileFault => ({ error: 'ENOSPC', calls: ['write', 'truncate'], path })
const fullDisk: Fault[] = [
  whileRunning('ENOSPC: the WAL', noSpace('.db-wal'), { isTold: true, isShort: true }),
  atStart('ENOSPC: shared memory', noSpace('.db-shm')),
  overRestart('ENOSPC: the database', noSpace('.db$')),
  overRestart('ENOSPC: everything', noSpace('/server/data/'), { isTold: true }),
]

const closedFileSystem: Fault[] = [
  whileRunning('file system read-only', { error: 'EROFS', calls: everyCall, path: '/server/data/' }, { isTold: true }),
  atStart(
    'file system read-only at start',
    { error: 'EROFS', calls: everyCall, path: '/server/data' },
    { isTold: true, isRefused: true, isShort: true },
  ),
  atStart(
    'directory of somebody else at start',
    { error: 'EACCES', calls: ['open', ...everyCall], path: '/server/data' },
    { isTold: true, isRefused: true },
  ),
  {
    name: 'no temporary directory',
    settings: { SQLITE_TMPDIR: '/var/tmp' },
    livesOn: true,
    async strike(stage) {
      const { shim, server } = stage
      for (let number = 0; number < 30; number++) await postSpread(server)
      shim.fail({ error: 'EROFS', calls: ['open'], path: '/var/tmp' })
      for (let number = 0; number < 20; number++) await refuseOne(server).catch(() => pause(50))
      await stage.takes(1)
      shim.fail(null)
    },
  },
  {
    name: 'database moved away and back',
    isTold: true,
    async strike(stage) {
      const back = putAside(databaseIn(stage.directory))
      await stage.lasts()
      back()
    },
  },
]

/** Posts as somebody who may send; answers the ids that it made. */
async function post({ httpPort, token }: Stage['server'], path: string, body?: object): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, {
    method: 'POST',
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  const { data = [] } = (await answer.json()) as { data?: { id: string }[] }
  return data.map(({ id }) => id)
}

/** A hundred emails for later, whose rows lie all over an index: behind a savepoint, SQLite keeps so many changes in a temporary file. */
function postSpread(server: Stage['server']): Promise<string[]> {
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString()
  const to = (): string => `later@${randomBytes(6).toString('hex')}.example`
  const emails = Array.from({ length: 100 }, () => ({
    from: 'app@sender.example',
    to: to(),
    subject: 'later',
    text: 'later',
    scheduled_at,
  }))
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
    async strike(stage) {
      const other = openWriter(stage.directory)
      other.exec('begin immediate')
      await pause(9_000)
      await stage.lasts()
      other.exec('rollback')
      other.close()
    },
  },
]

/** Faults of the disk and of what lies on it. */
export const fileFaults: Fault[] = [...failingDisk, ...fullDisk, ...closedFileSystem, ...damagedFiles]
