import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import type { Changes } from './changes.ts'
import type { Database } from './database.ts'
import type { LimitShares } from './limit-shares.ts'
import type { Joining, Nodes } from './nodes.ts'

/** What a process keeps its data in. Nobody outside this folder asks which engine that is. */
export interface Store {
  db: Database
  /** What decides when something is due, ends or counts: of the machine, or of the server where several nodes share a database. */
  clock: Clock
  changes: Changes
  limitShares: LimitShares
  /** Null for a database on a server: what needs files is refused there (`requireFiles`). */
  files: StoreFiles | null
  /** Makes this process a node, which may have work in hand. A command that changes something is one without duties. */
  join(joining: Joining): Promise<Nodes>
  /** Whether there are nodes that serve, as far as anybody knows. Where one process at a time holds the database, nobody else can be one. */
  hasNodes(): Promise<boolean>
}

/** What only a database in files of its own can do. */
export interface StoreFiles {
  /** Where they are. Its disk has to have room for what is accepted. */
  directory: string
  /** The database, what is committed and not yet in it, and what its threads share. All but the first come and go. */
  paths: { database: string; log: string; shared: string }
  /** The file by which one process at a time holds the directory. */
  lock: string
  /** Copies the database, as it is at one moment, into a new file while work continues. The copy says that it is one (`markCopy`). */
  backup(file: string): Promise<void>
  copying: StoreCopying
  upkeep: StoreUpkeep
  /** Removes the backups of upgrades that were made before a time, epoch ms. */
  removeUpgradeBackups(before: number): void
}

/** What the continuous copy asks of a store that was opened for one. */
export interface StoreCopying {
  /** Where the copy finds the commits, for `CopiedLog` on any thread. */
  log: CopiedLogPlace
  /** From the next commit on, everything belongs to this generation of the copy. */
  begin(generation: string): Promise<void>
  /** Like `backup`, but as it is on disk, so that commits of the log can be added. */
  snapshot(file: string): Promise<void>
}

export interface CopiedLogPlace {
  dataDir: string
  /** The file of the database. */
  database: string
  /** As in `CopiedPosition`. */
  sharedCells: SharedArrayBuffer
}

/** Keeps the database files small and free of removed data. Each call is a step of a few milliseconds. */
export interface StoreUpkeep {
  /** Returns some of the freed space to the file system. False if enough has been returned. */
  shrink(): Promise<boolean>
  /** Empties the log. False if somebody is reading from it: try again later. */
  emptyLog(): Promise<boolean>
  /**
   * Overwrites what deleting has left in unused bytes, starting at a position in the file; 1 is the beginning. Returns the position to
   * continue at, which is the same if somebody was in the way; null at the end.
   */
  overwriteUnused(from: number): Promise<number | null>
  /** True for files from before these features: until they are rewritten, deleted data in them can still be read. */
  needsRewriting(): Promise<boolean>
}

/** A change of the schema that opening makes. */
export interface Upgrade {
  from: number
  to: number
  /** The backup that is made first; null: none, because the operator does not want one. */
  backup: string | null
  /** Of the database, bytes. */
  size: number
  /** Somebody uses a table that it changes, so it is tried again until nobody does. */
  isWaiting?: true
}

/** What is refused without files, and what to do instead. */
const refusals = {
  backup: 'The database is on a server, which sterna backup cannot copy: use pg_dump, and copy the key file.',
  backupSchedule:
    'The database is on a server, and backup.schedule copies only files: set it to null, and have pg_dump run, or archive the WAL of the server.',
  continuousCopy:
    'The database is on a server, and backup.continuous copies only files: set it to false, and archive the WAL of the server.',
  compact: 'The database is on a server, and is rewritten there: use "vacuum full".',
  restore: 'The database is on a server, and is restored there: stop all nodes, use pg_restore, then start them.',
} as const

/** What is left of deleted rows where there are no files to overwrite, and what to do about it. */
export const leftOnServer =
  'The rows are gone. But the database is on a server, where Sterna cannot overwrite what is deleted: to be rid of the bytes too, run ' +
  '"vacuum full", during which no mail is accepted, and delete the archived WAL and the backups from before.'

/** @throws SternaError `invalid_state`, with what to do instead, if the database is on a server */
export function requireFiles<T>(files: T | null, forWhat: keyof typeof refusals): T {
  if (files === null) throw new SternaError('invalid_state', refusals[forWhat])
  return files
}
