import type { Statement as Prepared } from 'better-sqlite3'
import type { Statement, Value, Written } from './database.ts'
import { SternaError, messageOf } from '../errors.ts'
import type { Connection } from './sqlite-connection.ts'
import type { ThreadError } from './thread-messages.ts'

type BatchResult = { written: Written[] } | { error: ThreadError }

class Unmet extends Error {}

/** Statements by their text: preparing one costs more than running it. */
type Statements = (sql: string) => Prepared<[Record<string, Value>], Record<string, Value>>

export function statementCache(connection: Connection): Statements {
  const cache = new Map<string, Prepared<[Record<string, Value>], Record<string, Value>>>()
  return (sql) => {
    let prepared = cache.get(sql)
    if (!prepared) {
      prepared = connection.prepare<[Record<string, Value>], Record<string, Value>>(sql)
      cache.set(sql, prepared)
    }
    return prepared
  }
}

/**
 * Writes batches in one durable commit; a batch that fails is rolled back alone, by a savepoint of its own.
 * Where SQLite gave up the whole transaction (disk full, I/O error), every batch of the group has failed.
 */
export function commitGroup(connection: Connection, statements: Statements, batches: Statement[][]): BatchResult[] {
  const results: BatchResult[] = []
  let reached = 0
  try {
    connection.exec('begin immediate')
    for (; reached < batches.length; reached++) results.push(runBatch(connection, statements, batches[reached] as Statement[]))
    connection.exec('commit')
    return results
  } catch (error) {
    if (connection.inTransaction) connection.exec('rollback')
    const failure = threadErrorOf(error, 0)
    return batches.map(() => ({ error: failure }))
  }
}

function runBatch(connection: Connection, statements: Statements, batch: Statement[]): BatchResult {
  statements('savepoint batch').run({})
  let index = 0
  try {
    const written: Written[] = []
    for (; index < batch.length; index++) written.push(runStatement(statements, batch[index] as Statement))
    statements('release batch').run({})
    return { written }
  } catch (error) {
    // After a full disk or an I/O error the whole transaction is gone, and with it the batches before this one.
    if (!connection.inTransaction) throw error
    statements('rollback to batch').run({})
    statements('release batch').run({})
    return { error: threadErrorOf(error, index) }
  }
}

function runStatement(statements: Statements, { sql, params = {}, expect }: Statement): Written {
  const prepared = statements(sql)
  const written = prepared.reader ? returned(prepared.all(params)) : { rows: [], changes: prepared.run(params).changes }
  if (expect !== undefined && written.changes !== expect) throw new Unmet()
  return written
}

const returned = (rows: Record<string, Value>[]): Written => ({ rows, changes: rows.length })

const uniqueCodes = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'])
// Shared memory that cannot grow means a full disk, unlike every other I/O error.
const fullCodes = new Set(['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE'])

/** Which kind of failure this is; I/O errors and corruption are fatal, since SQLite would carry on after a lost flush. */
export function threadErrorOf(error: unknown, statement: number): ThreadError {
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  const of = (kind: ThreadError['kind']): ThreadError => ({ kind, message: messageOf(error), statement })
  if (error instanceof Unmet) return of('conflict')
  if (error instanceof SternaError && error.code === 'configuration') return of('configuration')
  if (uniqueCodes.has(code)) return of('unique')
  if (fullCodes.has(code)) return of('full')
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN)/.test(code)) return of('fatal')
  return of('other')
}
