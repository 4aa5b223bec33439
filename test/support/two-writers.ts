import {
  ConflictError,
  UniqueError,
  type Database,
  type Row,
  type Statement,
  type Value,
  type Written,
} from '../../src/platform/store/database.ts'
import { lockStatement, locksOf, postgresStatement } from '../../src/platform/store/postgresql/postgres-dialect.ts'
import { PostgresError, PostgresSession } from './postgres-session.ts'
import { testDatabase } from './test-database.ts'

/** Two that write to one database, as two nodes do. */
export interface TwoWriters {
  a: Database
  b: Database
  /**
   * What comes of both when each begins before the other has ended: on PostgreSQL the first keeps its batch open until the second is done or
   * waits for it. SQLite has one writer, so one batch comes after the other.
   */
  atOnce<A, B>(first: (db: Database) => Promise<A>, second: (db: Database) => Promise<B>): Promise<[Result<A>, Result<B>]>
}

type Result<T> = PromiseSettledResult<T>

/** One node's session: it writes a batch at a time. */
class WritingSession implements Pick<Database, 'read' | 'slowRead' | 'write' | 'onInsert'> {
  readonly #session: PostgresSession
  #turn: Promise<unknown> = Promise.resolve()
  /** Called between the last statement of a batch and its commit. */
  beforeCommit: () => Promise<void> = async () => {}

  constructor(session: PostgresSession) {
    this.#session = session
  }

  read<R extends Row>(sql: string, params?: Record<string, Value>): Promise<R[]> {
    return this.#inTurn(async () => (await this.#run({ sql, ...(params && { params }) })).rows as R[])
  }

  slowRead<R extends Row>(sql: string, params?: Record<string, Value>): Promise<R[]> {
    return this.read<R>(sql, params)
  }

  write(batch: Statement[]): Promise<Written[]> {
    return this.#inTurn(async () => {
      await this.#session.run('begin')
      try {
        for (const name of locksOf([{ locks: batch.flatMap(({ locks = [] }) => locks) }])) {
          const { sql, values } = lockStatement(name)
          await this.#session.run(sql, values)
        }
        const written: Written[] = []
        for (const statement of batch) written.push(await this.#met(statement))
        await this.beforeCommit()
        await this.#session.run('commit')
        return written
      } catch (error) {
        await this.#session.run('rollback')
        throw error instanceof PostgresError && error.code === '23505' ? new UniqueError(error.message) : error
      }
    })
  }

  onInsert(): () => void {
    return () => {}
  }

  async #met(statement: Statement): Promise<Written> {
    const written = await this.#run(statement)
    if (statement.expect !== undefined && written.changes !== statement.expect) throw new ConflictError(statement.guard)
    return written
  }

  #run({ sql, params = {} }: Statement): Promise<Written> {
    const statement = postgresStatement(sql)
    return this.#session.run(
      statement.sql,
      statement.names.map((name) => {
        const value = params[name]
        if (value === undefined) throw new RangeError(`:${name} has no value in ${sql}`)
        return value
      }),
    )
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

let databases = 0

/** Over a new database of PostgreSQL, like that which `schema` was put into. */
export async function onPostgres(socket: string, atEnd: (close: () => void) => void): Promise<TwoWriters> {
  const database = `writers_${++databases}`
  const maker = await PostgresSession.open(socket, 'template1')
  await maker.run(`create database ${database} template postgres`)
  maker.close()
  const opened = () => PostgresSession.open(socket, database)
  const sessions = { a: await opened(), b: await opened(), watch: await opened() }
  atEnd(() => Object.values(sessions).forEach((session) => session.close()))
  const [a, b] = [new WritingSession(sessions.a), new WritingSession(sessions.b)]
  return {
    a: whole(a),
    b: whole(b),
    atOnce: (first, second) => interleaved({ a, b, watch: sessions.watch }, first, second),
  }
}

/** The rest of a database is of a file, and no statement. */
const whole = (session: WritingSession): Database => session as unknown as Database

async function interleaved<A, B>(
  { a, b, watch }: { a: WritingSession; b: WritingSession; watch: PostgresSession },
  first: (db: Database) => Promise<A>,
  second: (db: Database) => Promise<B>,
): Promise<[Result<A>, Result<B>]> {
  const [{ pid } = {}] = await b.read('select pg_backend_pid() as pid')
  const waits = `select pid from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`
  const isAtCommit = Promise.withResolvers<void>()
  const mayCommit = Promise.withResolvers<void>()
  a.beforeCommit = () => {
    isAtCommit.resolve()
    return mayCommit.promise
  }
  const firstDone = first(whole(a))
  await Promise.race([isAtCommit.promise, firstDone.catch(() => {})])
  let isDone = false
  const secondDone = second(whole(b)).finally(() => (isDone = true))
  secondDone.catch(() => {})
  while (!isDone && (await watch.run(waits, [pid ?? null])).rows.length === 0);
  mayCommit.resolve()
  const results = await Promise.allSettled([firstDone, secondDone])
  a.beforeCommit = async () => {}
  return results
}

/** Over SQLite, which has one writer. */
export async function onSqlite(atEnd: (close: () => Promise<void>) => void): Promise<TwoWriters> {
  const db = await testDatabase(atEnd)
  return { a: db, b: db, atOnce: (first, second) => Promise.allSettled([first(db), second(db)]) }
}
