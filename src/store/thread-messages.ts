import type { Statement, Value, Written } from './database.ts'

/** How a store thread is started: the one writer, or a reader beside it. */
export interface ThreadData {
  directory: string
  role: 'writer' | 'reader'
}

/** What the main thread asks of a store thread. Messages travel in arrays, one a turn of the event loop. */
export type Request =
  | { id: number; type: 'write'; batch: Statement[] }
  | { id: number; type: 'read'; sql: string; params: Record<string, Value> }
  | { id: number; type: 'backup'; file: string }
  | { id: number; type: 'close' }

/** Errors keep their kind across the thread border; `fatal`: the database can no longer be trusted. */
export interface ThreadError {
  kind: 'conflict' | 'unique' | 'full' | 'fatal' | 'configuration' | 'other'
  message: string
  /** Place in the batch of the statement that failed. */
  statement: number
}

export type Answer =
  | { id: number; written: Written[] }
  | { id: number; rows: Written['rows'] }
  | { id: number; done: true }
  | { id: number; error: ThreadError }

/** The answer with this id tells that the thread has opened its database, or why it could not. */
export const openId = 0
