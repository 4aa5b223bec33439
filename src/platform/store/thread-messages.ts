import type { Damage, Value, Written } from './database.ts'
import type { Upgrade } from './store.ts'

/** How to start a store thread: the only writer, or a reader. */
export interface ThreadData {
  directory: string
  role: 'writer' | 'reader'
  /** How long to wait for a lock of another process, ms; default: 5 s. */
  busyTimeoutMs?: number | undefined
  /** Where it counts its commits; default: nowhere. */
  sharedCells?: SharedArrayBuffer | undefined
  /** What becomes of a database with an older schema; default: `upgrade`. A newer one is refused. */
  olderSchema?: 'upgrade' | 'refuse' | 'keep' | undefined
  /** Whether to copy the database before its schema changes; default: yes. */
  backsUpUpgrades?: boolean | undefined
  /** The writer keeps what a continuous copy needs; default: there is no such copy. */
  copying?: CopyingData | undefined
}

/** What the store and the continuous copy share. */
export interface CopyingData {
  /** As in `CopiedPosition`. */
  sharedCells: SharedArrayBuffer
  /** Bytes that may wait for the copy before it must start again. */
  maxBytes: number
}

/** A statement by its number, its values in order, and how many rows it must change or return. */
export type NumberedStatement = [number: number, values: Value[], expect?: number]

/** What the main thread sends to a store thread in one turn of the event loop. */
export interface Requests {
  /** Texts of statements that the thread does not know yet; they get the next numbers, from 0 on. */
  texts: string[]
  requests: Request[]
}

export type UpkeepTask = 'shrink' | 'empty-log' | 'needs-rewriting'

export type Request =
  /**
   * `isTimed`: the answer must say how long its statements took. `locks`: the rows that are locked first. `as`: as in
   * `Database.write`.
   */
  | { id: number; type: 'write'; batch: NumberedStatement[]; isTimed?: boolean; locks?: string[]; as?: string | null }
  | { id: number; type: 'read'; statement: NumberedStatement; isSlow?: true }
  | { id: number; type: 'backup'; file: string; isMarked: boolean }
  | { id: number; type: 'begin-copy'; generation: string }
  | { id: number; type: 'upkeep'; task: UpkeepTask }
  | { id: number; type: 'overwrite'; from: number }
  | { id: number; type: 'close' }

/**
 * Errors keep their kind across threads. `fatal`: the database can no longer be trusted. `full`, `busy` (another program holds the
 * database locked) and `unwritten` (anything else): for now, nobody's batch can be written. `damaged`: pages that the statement needs
 * cannot be read; nothing was written. `unavailable`: the server of the database did not answer in time; nothing was written.
 * `buried`: other nodes have taken this one for dead; the message is its name.
 */
export interface ThreadError {
  kind: 'conflict' | 'unique' | 'full' | 'busy' | 'unavailable' | 'unwritten' | 'damaged' | 'fatal' | 'buried' | 'configuration' | 'other'
  message: string
  /** The position in the batch of the statement that failed. */
  statement: number
  /** What is damaged; only of that kind. */
  damage?: Omit<Damage, 'statement'>
}

/** What came of a statement: of one that returns no rows, only how many it changed. */
export type BriefWritten = number | Written

export const writtenOf = (brief: BriefWritten): Written => (typeof brief === 'number' ? { rows: [], changes: brief } : brief)

export type Answer =
  | { id: number; written: BriefWritten[]; ms?: number }
  | { id: number; rows: Written['rows'] }
  | { id: number; done: true }
  | { id: number; is: boolean }
  | { id: number; next: number | null }
  | { id: number; error: ThreadError }
  /** Before the thread has opened its database: another answer follows. */
  | { id: typeof openId; upgrade: Upgrade }

/** The answer with this id says that the thread has opened its database, or why it could not. */
export const openId = 0
