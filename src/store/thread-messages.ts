import type { Value, Written } from './database.ts'

/** How a store thread is started: the one writer, or a reader beside it. */
export interface ThreadData {
  directory: string
  role: 'writer' | 'reader'
  /** How long a lock of another process is waited for, ms; 5 s unless given. */
  busyTimeoutMs?: number | undefined
  /** Where it counts what it commits; nowhere unless given. */
  sheet?: SharedArrayBuffer | undefined
}

/** A statement by its number, its values in their order, and how many rows it must change or return. */
export type NumberedStatement = [number: number, values: Value[], expect?: number]

/** What the main thread asks of a store thread in a turn of the event loop. */
export interface Requests {
  /** Texts of statements that the thread does not know yet; they get the next numbers, from 0 on. */
  texts: string[]
  requests: Request[]
}

export type UpkeepTask = 'shrink' | 'empty-log' | 'needs-rewriting'

export type Request =
  /** `isTimed`: the answer is to tell how long its statements took. */
  | { id: number; type: 'write'; batch: NumberedStatement[]; isTimed?: boolean }
  | { id: number; type: 'read'; statement: NumberedStatement }
  | { id: number; type: 'backup'; file: string }
  | { id: number; type: 'upkeep'; task: UpkeepTask }
  | { id: number; type: 'overwrite'; from: number }
  | { id: number; type: 'close' }

/**
 * Errors keep their kind across the thread border. `fatal`: the database can no longer be trusted. `full`, `busy` (another program
 * holds the database locked) and `unwritten` (anything else): nobody's batch could be written just now.
 */
export interface ThreadError {
  kind: 'conflict' | 'unique' | 'full' | 'busy' | 'unwritten' | 'fatal' | 'configuration' | 'other'
  message: string
  /** Place in the batch of the statement that failed. */
  statement: number
}

export type Answer =
  | { id: number; written: Written[]; ms?: number }
  | { id: number; rows: Written['rows'] }
  | { id: number; done: true }
  | { id: number; is: boolean }
  | { id: number; next: number | null }
  | { id: number; error: ThreadError }

/** The answer with this id tells that the thread has opened its database, or why it could not. */
export const openId = 0
