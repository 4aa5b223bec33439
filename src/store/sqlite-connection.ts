import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { messageOf, SternaError } from '../errors.ts'

export type Connection = Sqlite.Database

export const databaseFile = (directory: string): string => join(directory, 'sterna.db')

/**
 * Opens the writing connection: WAL, every commit flushed to disk.
 * SQLite opens an existing WAL database with synchronous=NORMAL, under which a power cut loses acknowledged rows,
 * so the level is set on every connection and read back.
 * @param busyTimeoutMs how long a lock of another process is waited for
 */
export function openWriter(directory: string, busyTimeoutMs = 5_000): Connection {
  makeDirectory(directory)
  const connection = new Sqlite(privateFile(databaseFile(directory)), { timeout: busyTimeoutMs })
  connection.pragma('journal_mode = wal')
  connection.pragma('synchronous = full')
  connection.pragma('foreign_keys = on')
  connection.pragma('cache_size = -8000')
  connection.pragma('wal_autocheckpoint = 4000')
  connection.pragma('journal_size_limit = 67108864')
  if (connection.pragma('journal_mode', { simple: true }) !== 'wal' || connection.pragma('synchronous', { simple: true }) !== 2) {
    throw new SternaError('configuration', `${databaseFile(directory)} cannot be opened durably: the file system refuses WAL.`)
  }
  return connection
}

/** Opens a connection that can only read, for queries that may take their time. */
export function openReader(directory: string): Connection {
  const connection = new Sqlite(databaseFile(directory), { readonly: true })
  connection.pragma('cache_size = -4000')
  return connection
}

/**
 * Takes the data directory for this process: an exclusive SQLite lock on a file of its own, which the operating
 * system gives back even when the process is killed.
 * @throws SternaError `configuration` where another process holds it, or this user may not write there
 */
export function lockDirectory(directory: string): Connection {
  makeDirectory(directory)
  const lock = new Sqlite(privateFile(join(directory, 'lock')), { timeout: 0 })
  try {
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
    throw new SternaError('configuration', `${directory} is in use by another Sterna process; stop that one first.`)
  }
  return lock
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unusable(error)
  }
}

/** Only its owner may read the file, even where the directory was made by somebody who lets everybody in. */
function privateFile(path: string): string {
  // Files that SQLite makes beside a database get its mode. One that exists may be open: to close it would end its locks.
  if (existsSync(path)) return path
  try {
    closeSync(openSync(path, 'a', 0o600))
    return path
  } catch (error) {
    throw unusable(error)
  }
}

const unusable = (error: unknown): SternaError =>
  new SternaError(
    'configuration',
    `The data directory cannot be used: ${messageOf(error)}. Set data_dir (STERNA_DATA_DIR) to a directory in which the user ` +
      'that runs Sterna may write.',
    { cause: error },
  )
