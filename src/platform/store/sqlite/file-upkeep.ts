import { closeSync, fdatasyncSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import type { LogSpool } from './log-spool.ts'
import type { Connection } from './sqlite-connection.ts'
import type { UpkeepTask } from '../thread-messages.ts'
import { isMapPage, pageSize, unusedBytes, type ByteRange } from './unused-bytes.ts'

/** Pages that one step examines: a mebibyte. */
const pagesAtOnce = 256
/** How long a step that returns pages may hold the thread, ms. */
const stepMs = 8
/**
 * Free pages that are kept for the next writes: this share of all pages, and at least this many. Pages are moved only if there are far
 * more.
 */
const keptPart = { begin: 1 / 8, end: 1 / 16 }
const keptPages = 1_024
/** A page with a higher number could look like a b-tree page without being one: its first bytes may be the number of another page. */
const lastPage = 0x02000000
/** Pages in the log from which on it is written into the database: as many as SQLite would let it have by itself here. */
const longLog = 4_000
/** How often its length is looked at, and how often at most it is written into the database while somebody reads it, ms. */
const lookMs = 50
const turnMs = 1_000

/** Keeps a database file small and free of removed data, in steps. Belongs to the only writing connection. */
export class FileUpkeep {
  readonly #connection: Connection
  readonly #isAutoVacuum: boolean
  readonly #hasUsualPages: boolean
  #isShrinking = false
  #pagesAtOnce = 64
  readonly #spool: LogSpool | null
  #file: number | undefined
  #lookedAt = 0
  #turnedAt = 0

  /** @param spool keeps the log for the continuous copy, if there is one; then only this class writes the log into the database */
  constructor(connection: Connection, spool: LogSpool | null = null) {
    this.#spool = spool
    this.#connection = connection
    this.#isAutoVacuum = this.#number('auto_vacuum') !== 0
    this.#hasUsualPages = this.#number('page_size') === pageSize
  }

  /** Call it once no connection of this process to the file is open: closing a file releases all locks on it. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  /** As in `StoreUpkeep`. */
  do(task: UpkeepTask): boolean {
    switch (task) {
      case 'shrink':
        return this.shrink()
      case 'empty-log':
        return this.emptyLog()
      case 'needs-rewriting':
        return !this.#isAutoVacuum
    }
  }

  /** Begins a chain of the continuous copy, as `LogSpool`. */
  beginCopy(generation: string): void {
    this.#spool?.begin(generation, this.#connection)
  }

  /** Returns some free pages at the end of the file to the file system. True if there are more to return. */
  shrink(): boolean {
    if (!this.#isAutoVacuum) return false
    const [pages, free] = [this.#number('page_count'), this.#number('freelist_count')]
    const kept = Math.max(keptPages, pages * (this.#isShrinking ? keptPart.end : keptPart.begin))
    this.#isShrinking = free > kept
    if (!this.#isShrinking) return false
    const startedAt = performance.now()
    this.#connection.pragma(`incremental_vacuum(${Math.min(this.#pagesAtOnce, free - keptPages)})`)
    const took = performance.now() - startedAt
    if (took > stepMs) this.#pagesAtOnce = Math.max(1, Math.floor(this.#pagesAtOnce / 2))
    else if (took < stepMs / 2) this.#pagesAtOnce *= 2
    return true
  }

  /** Call it after commits. With a continuous copy, it does what SQLite does by itself without one. */
  noteCommits(): void {
    const now = performance.now()
    if (this.#spool === null || now - this.#lookedAt < lookMs || now - this.#turnedAt < turnMs) return
    this.#lookedAt = now
    const [state] = this.#connection.pragma('wal_checkpoint(noop)') as { log: number; checkpointed: number }[]
    if (state === undefined || state.log < longLog || state.checkpointed === state.log) return
    this.#turnedAt = now
    this.#spool.keep(this.#connection)
    this.#connection.pragma('wal_checkpoint(passive)')
  }

  /** Writes the log into the database and empties it, so that it holds no older copy of anything. False while somebody is reading. */
  emptyLog(): boolean {
    this.#spool?.keep(this.#connection)
    const patience = this.#number('busy_timeout')
    this.#connection.pragma('busy_timeout = 0')
    try {
      const [result] = this.#connection.pragma('wal_checkpoint(truncate)') as { busy: number }[]
      return result?.busy === 0
    } finally {
      this.#connection.pragma(`busy_timeout = ${patience}`)
    }
  }

  /**
   * Overwrites the unused bytes of some pages, starting with the page `first`, if they hold something. Returns the page to
   * continue with, which is the same one while somebody is reading the log; null at the end of the file.
   *
   * These bytes are written behind SQLite's back: it never reads them, so it does not matter which of them survive a crash.
   * What matters is that no copy of the page is written later: the log is empty, and no page stays in the connection's memory.
   */
  overwriteUnused(first: number): number | null {
    if (!this.#hasUsualPages) return null
    // Data that is only in the log would not be seen.
    if (first === 1 && !this.emptyLog()) return first
    if (this.#dirtyPages(first).length > 0 && !(this.emptyLog() && this.#overwrite(first))) return first
    const next = first + pagesAtOnce
    return next > Math.min(this.#number('page_count'), lastPage) ? null : next
  }

  /** False if somebody else has written to the log in the meantime. */
  #overwrite(first: number): boolean {
    this.#connection.exec('begin immediate')
    try {
      if (logSize(this.#connection) > 0) return false
      for (const [page, ranges] of this.#dirtyPages(first)) {
        for (const [from, to] of ranges) writeSync(this.#opened(), Buffer.alloc(to - from), 0, to - from, (page - 1) * pageSize + from)
      }
      fdatasyncSync(this.#opened())
    } finally {
      this.#connection.exec('rollback')
    }
    this.#connection.pragma('shrink_memory')
    return true
  }

  #dirtyPages(first: number): [page: number, ranges: ByteRange[]][] {
    const bytes = Buffer.alloc(pagesAtOnce * pageSize)
    const read = readSync(this.#opened(), bytes, 0, bytes.length, (first - 1) * pageSize)
    const found: [number, ByteRange[]][] = []
    for (let place = 0; (place + 1) * pageSize <= read; place++) {
      const page = first + place
      // The first page is the schema's, with the header of the file.
      if (page === 1 || page >= lastPage || isMapPage(page, this.#isAutoVacuum)) continue
      const ranges = unusedBytes(bytes.subarray(place * pageSize, (place + 1) * pageSize))
      if (ranges.length > 0) found.push([page, ranges])
    }
    return found
  }

  #opened(): number {
    return (this.#file ??= openSync(this.#connection.name, 'r+'))
  }

  #number(pragma: string): number {
    return this.#connection.pragma(pragma, { simple: true }) as number
  }
}

const logSize = ({ name }: Connection): number => statSync(`${name}-wal`, { throwIfNoEntry: false })?.size ?? 0
