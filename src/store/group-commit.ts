import type { Row, Written } from './database.ts'
import { SternaError, messageOf } from '../errors.ts'
import type { PreparedStatements } from './prepared-statements.ts'
import type { Connection } from './sqlite-connection.ts'
import type { NumberedStatement, ThreadError } from './thread-messages.ts'

/** `ms`: how long its statements took. */
export type BatchResult = { written: Written[]; ms: number } | { error: ThreadError }

/** How many groups are written batch by batch after a group in which a batch failed. */
const apartAfterRefusal = 8

/**
 * Writes batches in one durable commit; a batch that fails is rolled back alone. It assumes that none fails, because a savepoint for
 * each costs a fifth of all writing: SQLite copies every page that is changed after one. If a batch fails after all, the group is
 * rolled back and written again with savepoints, and so are the next few groups, because failures come in clusters.
 */
export class GroupCommit {
  readonly #connection: Connection
  readonly #statements: PreparedStatements
  #apart = 0
  #copies = 0

  constructor(connection: Connection, statements: PreparedStatements) {
    this.#connection = connection
    this.#statements = statements
  }

  /**
   * Lets no group be rolled back until this copy of the database is complete: SQLite starts a copy again after each rollback, and would
   * never finish while batches fail.
   */
  async spareCopy<T>(copy: Promise<T>): Promise<T> {
    this.#copies++
    try {
      return await copy
    } finally {
      this.#copies--
    }
  }

  /** If SQLite gave up the whole transaction (disk full, I/O error), every batch of the group has failed. */
  commit(batches: NumberedStatement[][]): BatchResult[] {
    try {
      this.#connection.exec('begin immediate')
      const results = this.#runTogether(batches) ?? batches.map((batch) => this.#runApart(batch))
      this.#connection.exec('commit')
      return results
    } catch (error) {
      if (this.#connection.inTransaction) this.#connection.exec('rollback')
      const fault = threadErrorOf(error, 0)
      const failure: ThreadError = fault.kind === 'other' ? { ...fault, kind: 'unwritten' } : fault
      return batches.map(() => ({ error: failure }))
    }
  }

  /** Null if a batch failed, or was likely to; nothing is then written. */
  #runTogether(batches: NumberedStatement[][]): BatchResult[] | null {
    if (this.#copies > 0) return null
    if (this.#apart > 0) {
      this.#apart--
      return null
    }
    try {
      return batches.map((batch) => {
        const startedAt = performance.now()
        return { written: batch.map((statement) => this.#run(statement)), ms: performance.now() - startedAt }
      })
    } catch (error) {
      if (!this.#connection.inTransaction) throw error
      this.#connection.exec('rollback')
      this.#connection.exec('begin immediate')
      this.#apart = apartAfterRefusal
      return null
    }
  }

  #runApart(batch: NumberedStatement[]): BatchResult {
    this.#connection.exec('savepoint batch')
    const written: Written[] = []
    const startedAt = performance.now()
    try {
      for (const statement of batch) written.push(this.#run(statement))
      this.#connection.exec('release batch')
      return { written, ms: performance.now() - startedAt }
    } catch (error) {
      // After a full disk or an I/O error the whole transaction is gone, and with it the previous batches.
      if (!this.#connection.inTransaction) throw error
      this.#connection.exec('rollback to batch')
      this.#connection.exec('release batch')
      return { error: threadErrorOf(error, written.length) }
    }
  }

  #run([number, values, expect]: NumberedStatement): Written {
    const prepared = this.#statements.at(number)
    const written = prepared.reader ? returned(prepared.all(values)) : { rows: [], changes: prepared.run(values).changes }
    if (expect !== undefined && written.changes !== expect) throw new Unmet()
    return written
  }
}

/** True if nobody's batch could be written. */
export const isOfAll = ({ kind }: ThreadError): boolean => kind === 'full' || kind === 'busy' || kind === 'unwritten' || kind === 'fatal'

class Unmet extends Error {}

const returned = (rows: Row[]): Written => ({ rows, changes: rows.length })

const uniqueCodes = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'])
// Shared memory that cannot grow means a full disk, unlike every other I/O error.
const fullCodes = new Set(['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE'])

/**
 * The kind of failure. I/O errors and corruption are fatal, because SQLite would continue after a lost flush. Failing to open an
 * auxiliary file is neither: the files of the database itself are open.
 */
export function threadErrorOf(error: unknown, statement: number): ThreadError {
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  const of = (kind: ThreadError['kind']): ThreadError => ({ kind, message: messageOf(error), statement })
  if (error instanceof Unmet) return of('conflict')
  if (error instanceof SternaError && error.code === 'configuration') return of('configuration')
  if (uniqueCodes.has(code)) return of('unique')
  if (fullCodes.has(code)) return of('full')
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return of('busy')
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB|READONLY)/.test(code)) return of('fatal')
  return of('other')
}
