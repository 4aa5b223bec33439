import type { CopiedMark } from './copied-mark.ts'
import type { ColumnType, RowPiece } from './row-codec.ts'

/** A table as both engines have it. */
export interface TableShape {
  table: string
  /** In the order of their names. */
  columns: readonly { name: string; type: ColumnType }[]
  /** Rows are read in the order of these: of its primary key, or of all columns if it has none. */
  key: readonly string[]
}

/** What a table holds: as the rows of both engines have the same form, equal rows have equal hashes. */
export interface TableSum {
  rows: number
  /** SHA-256 of all rows in the order of the key, hex. */
  sha256: string
}

interface CopySide {
  /** For people, without a password. */
  shown: string
  /** All tables but those that say something of the engine, in the order of their names. */
  tables(): Promise<TableShape[]>
  rows(shape: TableShape): AsyncIterable<RowPiece>
}

/** Data that nobody else works on until `close`. It is only read, but for the mark. */
export interface CopySource extends CopySide {
  /** Roughly, of the whole database, bytes. */
  size: number
  /** Which key its secrets are sealed with; null if it says nothing of that. */
  fingerprint: string | null
  /** Where it was copied to before; null: nowhere. */
  copied: CopiedMark | null
  /** Values in which a NUL had to be replaced, so far. */
  replaced(): number
  /** Notes that the data was copied: no server starts on it any more. It is on disk when the promise resolves. */
  mark(target: string, now: number): Promise<void>
  unmark(): Promise<void>
  close(): Promise<void>
}

/** An empty place that is taken until `close`, and stays as it was unless `commit` has succeeded. */
export interface CopyTarget extends CopySide {
  /** Call it before the first table is filled. */
  begin(): Promise<void>
  fill(shape: TableShape, rows: AsyncIterable<RowPiece>): Promise<void>
  /** All tables are filled: checks what holds between them. */
  finish(): Promise<void>
  /**
   * Makes what was filled the data of its place, in one step.
   * @throws CommitUnknown if it may have happened
   */
  commit(): Promise<void>
  close(): Promise<void>
}

/** Whether the commit has happened cannot be known. */
export class CommitUnknown extends Error {}

/** What is not copied: which processes work on the data, and what they have of limits; where its files are, and where it was copied to before. */
export const leftOut: ReadonlySet<string> = new Set(['node', 'duty', 'limit_share', 'limit_lock', 'last_place', 'store_copy'])
