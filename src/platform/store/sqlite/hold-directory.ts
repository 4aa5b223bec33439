import { join } from 'node:path'
import { codeOf, makeDirectory } from '../../durable-file.ts'
import { SternaError } from '../../errors.ts'
import { databaseFile, findDatabase, identityOf, lastLock, noteBeginning } from './data-directory.ts'
import { open, openWriter, privateFile, usable, type Connection } from './sqlite-connection.ts'

/** How long another process may take to leave the database before this one gives up, ms. */
const aloneWithinMs = 1_000

export const lockFile = (directory: string): string => join(directory, 'lock')

/** A data directory that belongs to this process. */
interface HeldDirectory {
  /** The identity of the lock file. */
  lock: string
  release(): void
}

/**
 * Takes the data directory for this process: an exclusive SQLite lock on a file of its own, which the operating system releases even if
 * the process is killed.
 * @throws SternaError `configuration` if another process holds it, or this user cannot write there
 */
export function holdDirectory(directory: string): HeldDirectory {
  usable(() => {
    makeDirectory(directory)
    noteBeginning(directory)
  })
  const path = privateFile(lockFile(directory))
  const before = identityOf(path)
  const lock = open(path, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    if (codeOf(error) !== 'SQLITE_BUSY') throw error
    throw inUse(directory)
  }
  // Somebody has just removed it, and a third process may hold the one that is there now.
  if (identityOf(path) === before && before !== null) return { lock: before, release: () => lock.close() }
  lock.close()
  throw inUse(directory)
}

/**
 * Checks that no other process has the database open unnoticed by its lock, because the file `lock` was removed or the directory was
 * copied since. Every process that has a WAL database open shares a lock on the database itself, other programs included.
 * @throws SternaError `configuration` if another process has it open
 */
export function requireAlone(connection: Connection, directory: string, { lock }: HeldDirectory): void {
  if (lock === lastLock(directory)) return
  const busyTimeoutMs = connection.pragma('busy_timeout', { simple: true })
  connection.pragma(`busy_timeout = ${aloneWithinMs}`)
  try {
    // The WAL is open from the first read on. If it is opened in exclusive mode, it stays in it.
    connection.pragma('user_version')
    connection.pragma('locking_mode = exclusive')
    connection.exec('begin immediate')
    // The commit narrows the lock and never releases it.
    connection.pragma('locking_mode = normal')
    connection.exec('commit')
    connection.pragma(`busy_timeout = ${busyTimeoutMs}`)
  } catch (error) {
    if (codeOf(error) !== 'SQLITE_BUSY') throw error
    throw new SternaError('configuration', `Another process has ${databaseFile(directory)} open. Stop it first: it may be another Sterna.`)
  }
}

/**
 * Checks that no other process has the current database of a held directory open, whatever state that database is in.
 * @throws SternaError `configuration` if another process has it open
 */
export function requireIdle(directory: string, held: HeldDirectory): void {
  let connection: Connection
  try {
    if (held.lock === lastLock(directory) || findDatabase(directory).isNew) return
    connection = openWriter(directory)
  } catch {
    // Nobody can work on a database that cannot be opened.
    return
  }
  try {
    requireAlone(connection, directory, held)
  } finally {
    connection.close()
  }
}

const inUse = (directory: string): SternaError =>
  new SternaError('configuration', `${directory} is in use by another Sterna process; stop that one first.`)
