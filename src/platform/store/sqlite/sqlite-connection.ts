import { closeSync, existsSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { flushDirectory, makeDirectory } from '../../durable-file.ts'
import { SternaError } from '../../errors.ts'
import { databaseFile, kindOf } from './data-directory.ts'
import { addonOption } from './sqlite-addon.ts'
import { reasonOf } from '../../plain-reason.ts'

export type Connection = Sqlite.Database

/** How long another program may keep the database locked before writing fails, ms. */
const busyMs = 5_000

/**
 * Opens the writing connection: WAL, every commit flushed to disk. SQLite opens an existing WAL database with synchronous=NORMAL, under
 * which a power cut loses acknowledged rows, so the level is set on every connection and read back.
 * @param busyTimeoutMs how long to wait for a lock of another process
 * @param checkpointPages how long the log may be before a commit writes it into the database; 0: commits never do
 */
export function openWriter(directory: string, busyTimeoutMs = busyMs, checkpointPages = 4_000): Connection {
  usable(() => makeDirectory(directory))
  const file = databaseFile(directory)
  const connection = open(privateFile(file), { timeout: busyTimeoutMs })
  // First: the next line is a commit.
  connection.pragma(`wal_autocheckpoint = ${checkpointPages}`)
  // This works only for a new file: pages can then be returned without scanning all others.
  connection.pragma('auto_vacuum = incremental')
  connection.pragma('journal_mode = wal')
  connection.pragma('synchronous = full')
  connection.pragma('foreign_keys = on')
  // Deleted data is overwritten with zeros, both in pages that stay and in pages that become free.
  connection.pragma('secure_delete = on')
  connection.pragma('cache_size = -8000')
  connection.pragma('journal_size_limit = 67108864')
  if (connection.pragma('journal_mode', { simple: true }) !== 'wal' || connection.pragma('synchronous', { simple: true }) !== 2) {
    throw new SternaError('configuration', `${file} cannot be opened durably: the file system refuses WAL.`)
  }
  return connection
}

/** Opens a connection that can only read, for queries that may take their time. */
export function openReader(directory: string): Connection {
  const connection = open(databaseFile(directory), { readonly: true })
  connection.pragma('cache_size = -4000')
  return connection
}

/**
 * Opens a file. What does not fit into SQLite's cache stays in memory: there may be no directory for temporary files, or a full one.
 * @throws SternaError `configuration`, with what to do, if the file system refuses
 */
export function open(file: string, options: Sqlite.Options = {}): Connection {
  const connection = usable(() => new Sqlite(file, { timeout: busyMs, ...options, ...addonOption(dirname(file)) }))
  connection.pragma('temp_store = memory')
  return connection
}

/**
 * Checks the whole database of a directory that nobody uses.
 * @throws SternaError `invalid_state` if it is damaged, or not one of ours
 */
export function requireWhole(directory: string): void {
  const no = (why: string): SternaError => new SternaError('invalid_state', why)
  if (kindOf(databaseFile(directory)) !== 'database') throw no('it is not an SQLite database.')
  const connection = openWriter(directory)
  try {
    const [fault] = connection.pragma('quick_check(1)') as { quick_check: string }[]
    if (fault?.quick_check !== 'ok') throw no(`it is damaged: ${fault?.quick_check}.`)
    if (connection.pragma('user_version', { simple: true }) === 0) throw no('it is not a database of Sterna.')
  } finally {
    connection.close()
  }
}

/** Only its owner may read the file, even in a directory that is open to everybody. */
export function privateFile(path: string): string {
  // Files that SQLite creates next to a database get its mode. An existing one may be open: closing it would release its locks.
  if (existsSync(path)) return path
  return usable(() => {
    closeSync(openSync(path, 'a', 0o600))
    flushDirectory(dirname(path))
    return path
  })
}

/** @throws SternaError `configuration`, with what to do, if the file system refuses */
export function usable<T>(use: () => T): T {
  try {
    return use()
  } catch (error) {
    if (error instanceof SternaError) throw error
    const { path } = error as NodeJS.ErrnoException
    throw new SternaError(
      'configuration',
      `The data directory cannot be used: ${path === undefined ? '' : `${path}: `}${reasonOf(error)}. Set data_dir (STERNA_DATA_DIR) to a directory in which the user ` +
        'that runs Sterna can write.',
      { cause: error },
    )
  }
}
