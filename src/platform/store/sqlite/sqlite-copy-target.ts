import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { flushDirectory, flushFile } from '../../durable-file.ts'
import { messageOf, SternaError } from '../../errors.ts'
import { CommitUnknown, type CopyTarget, type TableShape } from '../copy-sides.ts'
import { freeIn, megabytes } from '../disk-space.ts'
import { decodedRows, type RowPiece } from '../row-codec.ts'
import { commitTo, databaseFile, findDatabase, newRestoredName } from './data-directory.ts'
import { holdDirectory, requireIdle } from './hold-directory.ts'
import { migrate, schemaOf } from './migrate.ts'
import { open, openReader, privateFile, type Connection } from './sqlite-connection.ts'
import { columnNames, rowsOf, tablesOf } from './sqlite-tables.ts'

/** Where the database is made before it becomes that of the directory. An interrupted copy leaves it, and the next one begins anew. */
const stagingName = 'copying'
const spare = 64 * 1024 * 1024

/**
 * A database in files that becomes the current one of a data directory, which is held until the end. One that `sterna store copy` has
 * copied away is kept beside it.
 * @param size of what will be copied, bytes
 * @throws SternaError `configuration` if another process has the directory, `invalid_state` if it holds data or has too little disk space
 */
export function sqliteTarget(directory: string, size: number): CopyTarget {
  const held = holdDirectory(directory)
  try {
    requireIdle(directory, held)
    requireFree(directory)
    const free = freeIn(directory)
    if (free < size + spare) throw noRoom(directory, size + spare, free)
    const staging = join(directory, stagingName)
    rmSync(staging, { recursive: true, force: true })
    mkdirSync(staging, { mode: 0o700 })
    const close = (): void => {
      rmSync(staging, { recursive: true, force: true })
      held.release()
    }
    return new StagedDatabase({ directory, file: join(staging, 'sterna.db'), lock: held.lock, close })
  } catch (error) {
    held.release()
    throw error
  }
}

interface Staged {
  directory: string
  file: string
  lock: string
  close(): void
}

class StagedDatabase implements CopyTarget {
  readonly shown: string
  readonly #staged: Staged
  readonly #connection: Connection
  /** Made anew when all rows are there. */
  #indexes: string[] = []

  constructor(staged: Staged) {
    this.shown = staged.directory
    this.#staged = staged
    this.#connection = open(privateFile(staged.file))
  }

  async tables(): Promise<TableShape[]> {
    return tablesOf(this.#connection)
  }

  rows(shape: TableShape): AsyncIterable<RowPiece> {
    return rowsOf(this.#connection, shape)
  }

  async begin(): Promise<void> {
    const connection = this.#connection
    connection.pragma('auto_vacuum = incremental')
    // Until it is flushed and gets its name, nobody reads the file.
    connection.pragma('journal_mode = off')
    connection.pragma('synchronous = off')
    connection.pragma('foreign_keys = off')
    connection.pragma('cache_size = -16000')
    // An index may be larger than the memory.
    connection.pragma('temp_store = file')
    migrate(connection)
    for (const { table } of tablesOf(connection)) connection.exec(`delete from ${table}`)
    const indexes = connection.prepare("select name, sql from sqlite_master where type = 'index' and sql is not null").all()
    for (const { name, sql } of indexes as { name: string; sql: string }[]) {
      connection.exec(`drop index ${name}`)
      this.#indexes.push(sql)
    }
  }

  async fill(shape: TableShape, rows: AsyncIterable<RowPiece>): Promise<void> {
    const types = shape.columns.map(({ type }) => type)
    const places = types.map(() => '?').join(', ')
    const insert = this.#connection.prepare(`insert into ${shape.table} (${columnNames(shape)}) values (${places})`)
    for await (const piece of rows) {
      this.#connection.transaction(() => {
        for (const row of decodedRows(piece, types)) insert.run(row)
      })()
    }
  }

  async finish(): Promise<void> {
    for (const sql of this.#indexes.splice(0)) this.#connection.exec(sql)
    const [fault] = this.#connection.pragma('foreign_key_check') as { table: string; parent: string }[]
    if (fault) throw new Error(`a row of the table ${fault.table} refers to one of ${fault.parent} that is not there`)
  }

  async commit(): Promise<void> {
    const { directory, file, lock } = this.#staged
    this.#connection.close()
    const target = join(directory, newRestoredName(directory), 'sterna.db')
    mkdirSync(dirname(target), { mode: 0o700 })
    flushFile(file)
    renameSync(file, target)
    for (const changed of [dirname(target), directory]) flushDirectory(changed)
    try {
      commitTo(directory, target, lock)
    } catch (error) {
      // What names the database may have changed, though not safely on disk.
      throw databaseFile(directory) === target ? new CommitUnknown(messageOf(error)) : error
    }
  }

  async close(): Promise<void> {
    if (this.#connection.open) this.#connection.close()
    this.#staged.close()
  }
}

/** @throws SternaError `invalid_state` unless nothing was ever stored, or what was is only left from a copy */
function requireFree(directory: string): void {
  if (findDatabase(directory).isNew || wasCopied(directory)) return
  throw new SternaError(
    'invalid_state',
    `${directory} already holds data, which a copy would replace. Nothing was changed. Set data_dir (STERNA_DATA_DIR) to a new directory, ` +
      'and put the key file there.',
  )
}

function wasCopied(directory: string): boolean {
  if (!existsSync(databaseFile(directory))) return false
  const connection = openReader(directory)
  try {
    const hasMark = connection.prepare("select 1 from sqlite_master where name = 'store_copy'").get() !== undefined
    return schemaOf(connection) > 0 && hasMark && connection.prepare('select 1 from store_copy').get() !== undefined
  } finally {
    connection.close()
  }
}

const noRoom = (directory: string, needed: number, free: number): SternaError =>
  new SternaError(
    'invalid_state',
    `The disk of ${directory} has too little space for the copy: it needs up to ${megabytes(needed)} MB, and ${megabytes(free)} MB are ` +
      'free. Nothing was changed. Free some space, or set data_dir (STERNA_DATA_DIR) to a directory on a larger disk.',
  )
