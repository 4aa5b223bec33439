import type { Statement as Prepared } from 'better-sqlite3'
import type { Row, Written } from '../database.ts'
import { SternaError, messageOf } from '../../errors.ts'
import { MetDamage } from '../met-damage.ts'
import type { PreparedStatements } from './prepared-statements.ts'
import type { Connection } from './sqlite-connection.ts'
import { writtenOf, type BriefWritten, type NumberedStatement, type ThreadError } from '../thread-messages.ts'

/** `ms`: how long its statements took. */
export type BatchResult = { written: BriefWritten[]; ms: number } | { error: ThreadError }

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
  readonly #begin: Prepared
  readonly #commit: Prepared
  #apart = 0
  #copies = 0

  constructor(connection: Connection, statements: PreparedStatements) {
    this.#connection = connection
    this.#statements = statements
    this.#begin = connection.prepare('begin immediate')
    this.#commit = connection.prepare('commit')
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

  /** If SQLite gave up the whole transaction (disk full, failed write), every batch of the group has failed. */
  commit(batches: NumberedStatement[][]): BatchResult[] {
    try {
      this.#begin.run()
      const results = this.#runTogether(batches) ?? batches.map((batch, place) => this.#runApart(batch, place))
      this.#commit.run()
      return results
    } catch (error) {
      if (this.#connection.inTransaction) this.#connection.exec('rollback')
      if (error instanceof GroupUndone) {
        return this.commit(batches.toSpliced(error.place, 1)).toSpliced(error.place, 0, { error: error.fault })
      }
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
      return batches.map((batch, place) => {
        const startedAt = performance.now()
        return { written: this.#runAll(batch, place), ms: performance.now() - startedAt }
      })
    } catch (error) {
      if (error instanceof GroupUndone || !this.#connection.inTransaction) throw error
      this.#connection.exec('rollback')
      this.#begin.run()
      this.#apart = apartAfterRefusal
      return null
    }
  }

  #runApart(batch: NumberedStatement[], place: number): BatchResult {
    this.#connection.exec('savepoint batch')
    const startedAt = performance.now()
    const progress = { statement: 0 }
    try {
      const written = this.#runAll(batch, place, progress)
      this.#connection.exec('release batch')
      return { written, ms: performance.now() - startedAt }
    } catch (error) {
      // After a full disk or an I/O error the whole transaction is gone, and with it the previous batches.
      if (error instanceof GroupUndone || !this.#connection.inTransaction) throw error
      this.#connection.exec('rollback to batch')
      this.#connection.exec('release batch')
      return { error: threadErrorOf(error, progress.statement) }
    }
  }

  /** `progress` says which statement was last begun. */
  #runAll(batch: NumberedStatement[], place: number, progress = { statement: 0 }): BriefWritten[] {
    try {
      return batch.map((statement, number) => {
        progress.statement = number
        return this.#run(statement)
      })
    } catch (error) {
      throw error instanceof MetDamage ? new GroupUndone(place, threadErrorOf(error, progress.statement)) : error
    }
  }

  #run([number, values, expect]: NumberedStatement): BriefWritten {
    const written = this.#changed(number, values)
    if (expect !== undefined && writtenOf(written).changes !== expect) throw new Unmet()
    return written
  }

  #changed(number: number, values: NumberedStatement[1]): BriefWritten {
    try {
      const prepared = this.#statements.at(number)
      return prepared.reader ? returned(prepared.all(values)) : prepared.run(values).changes
    } catch (error) {
      throw ofWrite(error, this.#statements.textOf(number))
    }
  }
}

/**
 * A batch met a page that cannot be read, so the others are to be written without it. The whole group is undone: after an I/O error SQLite
 * has done so, and after corruption it refuses everything behind a return to a savepoint.
 */
class GroupUndone extends Error {
  readonly place: number
  readonly fault: ThreadError

  constructor(place: number, fault: ThreadError) {
    super(fault.message)
    this.place = place
    this.fault = fault
  }
}

/** True if nobody's batch could be written. */
export const isOfAll = ({ kind }: ThreadError): boolean => kind === 'full' || kind === 'busy' || kind === 'unwritten' || kind === 'fatal'

class Unmet extends Error {}

const returned = (rows: Row[]): Written => ({ rows, changes: rows.length })

const uniqueCodes = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'])
// Shared memory that cannot grow means a full disk, unlike every other I/O error.
const fullCodes = new Set(['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE'])

/** Errors of a write that only concern the pages it needs: their content makes no sense, or the disk does not give it. */
const unreadableCodes = /^SQLITE_(CORRUPT|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA))/
/** The same of a read: since it changes nothing, no I/O error leaves anything in doubt. */
const unreadableByReads = /^SQLITE_(CORRUPT|IOERR(?!_SHMSIZE))/

/** An error of a statement that writes, and one of a statement that only reads. */
export const ofWrite = (error: unknown, sql: string): unknown => (unreadableCodes.test(codeOf(error)) ? new MetDamage(error, sql) : error)
export const ofRead = (error: unknown, sql: string): unknown => (unreadableByReads.test(codeOf(error)) ? new MetDamage(error, sql) : error)

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

/**
 * The kind of failure. A failed write or flush is fatal, because SQLite would continue after a lost flush, and so is damage that concerns
 * more than a statement. Failing to open an auxiliary file is neither: the files of the database itself are open.
 */
export function threadErrorOf(error: unknown, statement: number): ThreadError {
  const code = codeOf(error)
  const of = (kind: ThreadError['kind']): ThreadError => ({ kind, message: messageOf(error), statement })
  if (error instanceof Unmet) return of('conflict')
  if (error instanceof MetDamage) return { ...of('damaged'), damage: error.damage }
  if (error instanceof SternaError && error.code === 'configuration') return of('configuration')
  if (uniqueCodes.has(code)) return of('unique')
  if (fullCodes.has(code)) return of('full')
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return of('busy')
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB|READONLY)/.test(code)) return of('fatal')
  return of('other')
}
