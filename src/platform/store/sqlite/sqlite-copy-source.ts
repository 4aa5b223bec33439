import { SternaError } from '../../errors.ts'
import type { CopiedMark } from '../copied-mark.ts'
import type { CopySource } from '../copy-sides.ts'
import { requireCurrent } from '../schema-steps.ts'
import { commitTo, findDatabase } from './data-directory.ts'
import { holdDirectory, requireAlone } from './hold-directory.ts'
import { breakChain } from './log-spool.ts'
import { schemaOf } from './migrate.ts'
import { openReader, openWriter, type Connection } from './sqlite-connection.ts'
import { rowsOf, tablesOf } from './sqlite-tables.ts'

/**
 * The database of a data directory, which is held until the end.
 * @throws SternaError `configuration` if another process has it, it is gone, or has the schema of another version; `not_found` if there is none
 */
export function sqliteSource(directory: string): CopySource {
  // If it refuses, nothing is created, not even a lock.
  if (findDatabase(directory).isNew) throw noData(directory)
  const held = holdDirectory(directory)
  let connection: Connection | undefined
  try {
    const { file } = findDatabase(directory)
    requireSchema(directory)
    breakChain(directory)
    connection = openWriter(directory)
    requireAlone(connection, directory, held)
    commitTo(directory, file, held.lock)
  } catch (error) {
    connection?.close()
    held.release()
    throw error
  }
  return sourceOf(connection, directory, () => held.release())
}

function sourceOf(connection: Connection, directory: string, release: () => void): CopySource {
  let replaced = 0
  const pages = ['page_count', 'page_size'].map((name) => connection.pragma(name, { simple: true }) as number)
  return {
    shown: directory,
    size: pages.reduce((product, each) => product * each, 1),
    fingerprint: (connection.prepare('select fingerprint from secret_key').pluck().get() as string | undefined) ?? null,
    copied: (connection.prepare('select target, copied_at from store_copy').get() as CopiedMark | undefined) ?? null,
    tables: async () => tablesOf(connection),
    rows: (shape) => rowsOf(connection, shape, (values) => (replaced += values)),
    replaced: () => replaced,
    async mark(target, now) {
      connection.prepare('insert into store_copy (target, copied_at) values (?, ?)').run(target, now)
    },
    async unmark() {
      connection.exec('delete from store_copy')
    },
    async close() {
      connection.close()
      release()
    },
  }
}

/** Before anything is changed. */
function requireSchema(directory: string): void {
  const reader = openReader(directory)
  try {
    requireCurrent(schemaOf(reader), 'files')
  } finally {
    reader.close()
  }
}

const noData = (directory: string): SternaError =>
  new SternaError(
    'not_found',
    `There is no server's data in ${directory}, so there is nothing to copy. If it is elsewhere, give this command the server's settings: ` +
      'the same STERNA_DATA_DIR, or the same --config.',
  )
