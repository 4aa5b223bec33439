import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { SternaError } from '../errors.ts'

export type Connection = Sqlite.Database

export const databaseFile = (directory: string): string => join(directory, 'sterna.db')

/**
 * Opens the writing connection: WAL, every commit flushed to disk.
 * SQLite opens an existing WAL database with synchronous=NORMAL, under which a power cut loses acknowledged rows,
 * so the level is set on every connection and read back.
 */
export function openWriter(directory: string): Connection {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const connection = new Sqlite(databaseFile(directory))
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
 * @throws SternaError `configuration` where another process holds it
 */
export function lockDirectory(directory: string): Connection {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const lock = new Sqlite(join(directory, 'lock'), { timeout: 0 })
  try {
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
    throw new SternaError('configuration', `${directory} is in use by another Sterna process; stop that one first.`)
  }
  return lock
}
