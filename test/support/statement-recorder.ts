import type { Database, Row, Statement, Value } from '../../src/platform/store/database.ts'

/** A statement and the rows that SQLite gave for it. */
export interface Executed extends Statement {
  rows: Row[]
}

export interface StatementRecorder {
  /** Every statement that was asked for, whatever came of it, with the values that it had last. */
  statements: Map<string, Record<string, Value>>
  /**
   * The written batches that succeeded, each as a list, and the reads, each alone. In the order in which the store's
   * writer did them, because that is how it answers. Reports come from another thread, so they are left out.
   */
  executed: Executed[][]
  /** The same database, listened to from now on. */
  listenTo(db: Database): Database
}

export function statementRecorder(): StatementRecorder {
  const statements = new Map<string, Record<string, Value>>()
  const executed: Executed[][] = []
  return {
    statements,
    executed,
    listenTo: (db) => ({
      ...db,
      async read<R extends Row>(sql: string, params = {}) {
        statements.set(sql, params)
        const rows = await db.read<R>(sql, params)
        executed.push([{ sql, params, rows }])
        return rows
      },
      slowRead(sql, params = {}) {
        statements.set(sql, params)
        return db.slowRead(sql, params)
      },
      async write(batch, options) {
        for (const { sql, params = {} } of batch) statements.set(sql, params)
        const written = await db.write(batch, options)
        executed.push(batch.map((statement, place) => ({ ...statement, rows: written[place]?.rows ?? [] })))
        return written
      },
    }),
  }
}
