/** A column's value: text, bigint or double, blob, null. Booleans are 0 and 1. Blobs may be in shared memory. */
export type Value = string | number | Uint8Array | null
/** If a row that is read has `bytes` and their `crc32`, and they do not match, the read fails with a `DamagedError`. */
export type Row = Record<string, Value>

/**
 * One SQL statement with named parameters (`:name`); values that it does not name are ignored. Lower-case SQL that both SQLite and
 * PostgreSQL understand: upserts, `returning`, no JSON functions, no deferred foreign keys.
 */
export interface Statement {
  sql: string
  params?: Record<string, Value>
  /** How many rows it must change or return; with any other number, the whole batch fails with a `ConflictError`. */
  expect?: number
  /** Names `expect` for callers that need to know which one was not met. */
  guard?: Guard
  /**
   * The id of an account or a recipient, or `limitLock`, for a statement whose condition is on rows that another batch may be adding or changing.
   * An engine that runs several batches at a time locks that row before it runs any statement of this one; who adds a row that refers to the account
   * waits for that too. With one writer there is nothing to lock.
   */
  locks?: string | readonly string[]
}

/** What a statement with `expect` protects: if somebody else was first, the caller reacts to it. */
export type Guard = 'challenge' | 'cursor' | 'idempotency' | 'quota' | 'returned-mail' | 'smarthost' | 'suppression'

/** The result of one statement in a written batch: the rows of its `returning`, and how many rows it changed. */
export interface Written {
  rows: Row[]
  changes: number
}

/**
 * The seam to the database. There is no interactive transaction: conditions live in SQL, and a guarded statement says how
 * many rows it must change.
 */
export interface Database {
  /** A short read that sees every batch written before it. For indexed look-ups on the hot path. */
  read<R extends Row = Row>(sql: string, params?: Record<string, Value>): Promise<R[]>
  /**
   * A read that may take long (lists, analytics), on a connection of its own, so that it delays no commit. Those of one owner (the
   * parameter `accountId`, or else `webhookId`) run one after the other, so nobody waits for more than one of another owner's. Split
   * what may take long into pieces.
   */
  slowRead<R extends Row = Row>(sql: string, params?: Record<string, Value>): Promise<R[]>
  /**
   * Writes all of the batch or nothing. When the promise resolves, the batch is on disk and survives a power cut. Batches of concurrent
   * callers share one commit; a batch that fails does so alone. With `mayBatch` it may wait up to 20 ms to share a commit: for writes
   * that nobody waits for. `onStoreTime` is called with the time that its statements held the store, ms, not counting the flush, which a
   * commit shares.
   *
   * With `as`, the batch adds the row of that name to `node`, and this process is that node from then on: an engine that several nodes share
   * writes only while the row is there. With `as: null`, the batch removes the row, and this process is no node any more.
   * @throws ConflictError if a statement's `expect` was not met
   * @throws UniqueError if a row with that key exists
   * @throws StorageFullError if the disk is full: nothing was written, a later call may succeed
   * @throws DamagedError if it needs pages that cannot be read
   * @throws BusyError if another process kept the database locked for too long: likewise
   * @throws StorageUnavailableError if the server of the database did not answer for too long: likewise
   */
  write(batch: Statement[], options?: { mayBatch?: boolean; as?: string | null; onStoreTime?: (ms: number) => void }): Promise<Written[]>
  /** Reports damage that shows only in what a table holds; the caller throws the error. */
  damaged(table: string, problem: string): DamagedError
  /** Calls `heard`, which must not throw, whenever a batch that adds rows to this table is on disk. Returns a function that ends this. */
  onInsert(table: string, heard: () => void): () => void
  /** Waits for pending requests, then closes. */
  close(): Promise<void>
}

/** A statement changed a different number of rows than it had to: somebody else was first. */
export class ConflictError extends Error {
  /** The name of the guard that was not met; undefined if it has none. */
  readonly guard: Guard | undefined
  constructor(guard?: Guard) {
    super(`the ${guard ?? 'expected'} rows were changed by somebody else first`)
    this.name = 'ConflictError'
    this.guard = guard
  }
}

/** The database was closed: the server stops, and the next start goes on. */
export class ClosedError extends Error {
  constructor() {
    super('the store is closed')
    this.name = 'ClosedError'
  }
}

/** A row with the same unique key exists already. */
export class UniqueError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UniqueError'
  }
}

/** A part of the database that cannot be read. */
export interface Damage {
  /** The tables that the statement names: one of them, or one of their indexes, is damaged. */
  tables: string[]
  /** True if the damage keeps new rows from being written. */
  keepsOut: boolean
  /** The position in the batch of the statement that met it. */
  statement: number
}

/**
 * Pages that a statement needs cannot be read, or what they hold is not what was written. Its batch was refused; other data is not
 * affected. Repeating it is in vain until an operator acts.
 */
export class DamagedError extends Error implements Damage {
  readonly tables: string[]
  readonly keepsOut: boolean
  readonly statement: number

  constructor(problem: string, { tables, keepsOut, statement }: Damage) {
    const place = tables.length === 0 ? 'A part of the database' : `The table ${tables.join(' or ')} of the database`
    super(
      `${place} is damaged: ${problem}. Check the disk and its log, stop the server, and restore a backup: "sterna backup list" shows which ` +
        'there are, "sterna restore BACKUP --force" puts one in place.',
    )
    this.name = 'DamagedError'
    this.tables = tables
    this.keepsOut = keepsOut
    this.statement = statement
  }
}

/** Returns the error if the work meets damage; throws any other. */
export const orDamage = <T>(work: Promise<T>): Promise<T | DamagedError> =>
  work.catch((error: unknown) => {
    if (error instanceof DamagedError) return error
    throw error
  })

/** What was written; false if somebody else was first, and nothing was. */
export const unlessConflict = <T>(write: Promise<T>): Promise<T | false> =>
  write.catch((error: unknown) => {
    if (error instanceof ConflictError) return false
    throw error
  })

/** Waits for a write; if it is refused with an error of this kind, throws what `refusal` makes of that. */
export async function refusedAs<T>(
  write: Promise<T>,
  kind: typeof ConflictError | typeof UniqueError,
  refusal: (cause: unknown) => Error,
): Promise<T> {
  try {
    return await write
  } catch (error) {
    throw error instanceof kind ? refusal(error) : error
  }
}

/** The disk is full, or so nearly full that what is queued must have the rest. */
export class StorageFullError extends Error {
  constructor(message = 'the disk is full') {
    super(message)
    this.name = 'StorageFullError'
  }
}

/** Another process (a shell, a VACUUM) kept the database locked for too long. */
export class BusyError extends Error {
  constructor(message = 'another process keeps the database locked') {
    super(message)
    this.name = 'BusyError'
  }
}

/** The server of the database cannot be reached, or did not answer in time. */
export class StorageUnavailableError extends Error {
  constructor(message = 'the database does not answer') {
    super(message)
    this.name = 'StorageUnavailableError'
  }
}
