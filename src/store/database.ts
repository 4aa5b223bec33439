/** What a column holds: text, bigint or double, blob, null. Booleans are 0 and 1. Blobs may lie in shared memory. */
export type Value = string | number | Uint8Array | null
export type Row = Record<string, Value>

/**
 * One SQL statement with named parameters (`:name`); values that it does not name are passed over. Lower-case SQL that
 * SQLite and PostgreSQL both know: upserts, `returning`, no JSON functions, no deferred foreign keys.
 */
export interface Statement {
  sql: string
  params?: Record<string, Value>
  /** How many rows it must change or return; any other number refuses the whole batch with a `ConflictError`. */
  expect?: number
  /** Names `expect` for callers that act on which one was not met. */
  guard?: Guard
}

/** What a statement with `expect` protects: where somebody else was first there, the caller does something of its own. */
export type Guard = 'cursor' | 'idempotency' | 'returned-mail' | 'suppression'

/** What one statement of a written batch did: the rows of its `returning`, and how many rows it changed. */
export interface Written {
  rows: Row[]
  changes: number
}

/**
 * The seam to the database. There is no interactive transaction: conditions live in SQL, and a guarded statement says how
 * many rows it must change.
 */
export interface Database {
  /** A short read that sees every batch written before it. For look-ups on the hot path, by index. */
  read<R extends Row = Row>(sql: string, params?: Record<string, Value>): Promise<R[]>
  /**
   * A read that may take its time (lists, analytics): on a connection of its own, so that it delays no commit. Those of one owner,
   * which is `accountId` or else `webhookId` among the parameters, are made one after the other: nobody waits for more than one
   * of another's. What may take long is asked for in pieces.
   */
  slowRead<R extends Row = Row>(sql: string, params?: Record<string, Value>): Promise<R[]>
  /**
   * Writes all of the batch or nothing. When the promise resolves, the batch is on disk and survives a loss of power.
   * Batches of concurrent callers share one commit; one that fails is refused alone. A `patient` batch may wait up to
   * 20 ms for others to share the commit with: for what nobody waits for. `onHeld` is told how long its statements held the
   * store, ms; the flush, which all of a commit share, is not counted.
   * @throws ConflictError where a statement's `expect` was not met
   * @throws UniqueError where a row with that key exists
   * @throws StorageFullError where the disk is full: nothing was written, a later call may succeed
   * @throws BusyError where somebody else kept the database locked for too long: the same
   */
  write(batch: Statement[], options?: { patient?: boolean; onHeld?: (ms: number) => void }): Promise<Written[]>
  /** Calls `heard`, which must not throw, whenever a batch that adds rows to this table is on disk. Returns what ends that. */
  onInsert(table: string, heard: () => void): () => void
  /** Copies the database, as it is at one moment, into a new file while work goes on. */
  backup(file: string): Promise<void>
  upkeep: StoreUpkeep
  /** Waits for what has been handed over, then closes. */
  close(): Promise<void>
}

/** What keeps the files of a database small, and free of what was removed. Each call is a step of some milliseconds. */
export interface StoreUpkeep {
  /** Gives some of the room that was freed back to the file system. False where enough is given back. */
  shrink(): Promise<boolean>
  /** Has the log hold nothing any more. False where somebody reads what is in it: to be tried again. */
  emptyLog(): Promise<boolean>
  /**
   * Overwrites what deleting has left in unused bytes, from a place in the file on; 1 is its beginning. Gives the place to go
   * on at, which is the same one where somebody was in the way; null at the end.
   */
  overwriteUnused(from: number): Promise<number | null>
  /** True of files that are older than all this: until they are rewritten, what was deleted from them can still be read. */
  needsRewriting(): Promise<boolean>
}

/** A statement changed another number of rows than it had to: somebody else was first. */
export class ConflictError extends Error {
  /** Of the statement that was not met; undefined where it has no name. */
  readonly guard: Guard | undefined
  constructor(guard?: Guard) {
    super(`the ${guard ?? 'expected'} rows were changed by somebody else first`)
    this.name = 'ConflictError'
    this.guard = guard
  }
}

/** A row with the same unique key exists already. */
export class UniqueError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UniqueError'
  }
}

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

/** Another process (a shell, a VACUUM) has kept the database locked for too long. */
export class BusyError extends Error {
  constructor(message = 'another process keeps the database locked') {
    super(message)
    this.name = 'BusyError'
  }
}
