/** A store thread: the writer, or a reader. Started by store-thread.ts. */
import { existsSync } from 'node:fs'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { metricsOf } from '../../metrics/metrics.ts'
import { commitTo, findDatabase } from './data-directory.ts'
import { FileUpkeep } from './file-upkeep.ts'
import { threadErrorOf } from './group-commit.ts'
import { breakChain, LogSpool } from './log-spool.ts'
import { holdDirectory, lockFile, requireAlone } from './hold-directory.ts'
import { newestSchema, requireCurrent, requireKnown } from '../schema-steps.ts'
import { migrate, schemaOf } from './migrate.ts'
import { RequestServer } from './request-server.ts'
import { openReader, openWriter, type Connection } from './sqlite-connection.ts'
import { backUpBefore, upgradeOf } from './upgrade-backup.ts'
import { openId, type Answer, type Requests, type ThreadData, type ThreadError } from '../thread-messages.ts'

const port = parentPort as MessagePort
const { directory, role, busyTimeoutMs, sharedCells, olderSchema = 'upgrade', backsUpUpgrades = true, copying } = workerData as ThreadData

const send = (answers: Answer[]): void => port.postMessage(answers)

void start()

async function start(): Promise<void> {
  try {
    const close = await serve()
    process.once('exit', close)
    send([{ id: openId, done: true }])
  } catch (error) {
    send([{ id: openId, error: openErrorOf(error) }])
  }
}

/** Handles requests until it is asked to close; the answer to that closes the database. */
async function serve(): Promise<() => void> {
  const spool = copying === undefined ? null : new LogSpool({ dataDir: directory, ...copying })
  const { connection, close: release } = role === 'writer' ? await takeDirectory(directory, spool) : readDirectory(directory)
  const upkeep = role === 'writer' ? new FileUpkeep(connection, spool) : null
  const close = (): void => {
    release()
    upkeep?.close()
    spool?.noteClosed()
  }
  const server = new RequestServer(connection, {
    send,
    upkeep,
    metrics: metricsOf(sharedCells),
    close() {
      close()
      // What was sent before that still leaves.
      setImmediate(() => port.close())
    },
  })
  port.on('message', (message: Requests) => server.take(message))
  return close
}

/** SQLite's own messages name no file, and do not say what to do. */
function openErrorOf(error: unknown): ThreadError {
  const fault = threadErrorOf(error, 0)
  if (role === 'reader' || fault.kind === 'configuration') return fault
  const message =
    `The database in ${directory} cannot be opened: ${fault.message}. Check whether the disk is full, failing or mounted read-only, and ` +
    'who can write there. Replace a damaged database with a backup: sterna restore BACKUP --force.'
  return { ...fault, kind: 'configuration', message }
}

interface Opened {
  connection: Connection
  close(): void
}

async function takeDirectory(directory: string, spool: LogSpool | null): Promise<Opened> {
  // If it refuses, nothing is created, not even a lock.
  if (!existsSync(lockFile(directory))) findDatabase(directory)
  const held = holdDirectory(directory)
  try {
    const { file, isNew } = findDatabase(directory)
    if (!isNew) requireSchema(directory)
    if (spool === null) breakChain(directory)
    else spool.judgeChain(file)
    // With a copy, the log is written into the database once what it holds is kept for that.
    const connection = openWriter(directory, busyTimeoutMs, spool === null ? undefined : 0)
    requireAlone(connection, directory, held)
    if (olderSchema === 'upgrade' || isNew) {
      await announceAndBackUp(connection)
      migrate(connection)
    }
    commitTo(directory, file, held.lock)
    const close = (): void => {
      // Closing writes the log into the database.
      spool?.keep(connection)
      connection.close()
      held.release()
    }
    return { connection, close }
  } catch (error) {
    held.release()
    throw error
  }
}

/** Refuses what may not be changed before anything is. */
function requireSchema(directory: string): void {
  const connection = openReader(directory)
  try {
    const found = schemaOf(connection)
    if (olderSchema === 'refuse') requireCurrent(found, 'files')
    else requireKnown(found, 'files')
  } finally {
    connection.close()
  }
}

/** Tells of an upgrade before it begins, because a large database takes minutes. */
async function announceAndBackUp(connection: Connection): Promise<void> {
  const upgrade = upgradeOf(connection, newestSchema(), { directory, isBackedUp: backsUpUpgrades })
  if (!upgrade) return
  send([{ id: openId, upgrade }])
  await backUpBefore(upgrade, connection)
}

function readDirectory(directory: string): Opened {
  const connection = openReader(directory)
  return { connection, close: () => void connection.close() }
}
