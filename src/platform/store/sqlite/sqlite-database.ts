import { ClosedError, DamagedError, type Database, type Row, type Statement, type Value, type Written } from '../database.ts'
import { InsertListeners } from '../insert-listeners.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import type { StoreFiles, StoreUpkeep } from '../store.ts'
import { startThread } from '../../program.ts'
import { databaseFile } from './data-directory.ts'
import { lockFile } from './hold-directory.ts'
import { CopiedPosition } from './log-spool.ts'
import { positional } from './prepared-statements.ts'
import { SpareFiles } from './spare-files.ts'
import { shareAddon } from './sqlite-addon.ts'
import { StoreThread, type EngineThread, type Hear } from '../store-thread.ts'
import { writtenOf, type ThreadData, type UpkeepTask } from '../thread-messages.ts'
import { removeUpgradeBackups } from './upgrade-backup.ts'

export interface DatabaseOptions extends Hear {
  directory: string
  /** How long to wait for a lock of another process, ms; default: 5 s. */
  busyTimeoutMs?: number | undefined
  /** Where the writer counts its commits; default: nowhere. */
  sharedCells?: SharedArrayBuffer | undefined
  /** What becomes of an older schema: it is upgraded, refused, or left alone; default: upgraded. */
  olderSchema?: ThreadData['olderSchema']
  /** Whether to copy the database before its schema changes; default: yes. */
  backsUpUpgrades?: boolean
  /** Bytes that may wait for the continuous copy before it must start again; default: there is no such copy. */
  copyLimit?: number | undefined
}

const threadOf = (data: ThreadData): EngineThread => ({
  role: data.role,
  start() {
    shareAddon(data.directory)
    return startThread(new URL('./sqlite-thread.ts', import.meta.url), { workerData: data, name: data.role })
  },
  formOf: positional,
})

/** How long the reader thread waits for another slow read before it ends, ms. It takes ten megabytes, and 0.1 s to open. */
const readerIdleMs = 60_000

/** Files that the reader thread opens: those of the database, and those by which threads wake each other. */
const readerFiles = 16

/** The second connection, on a thread of its own: open from a slow read until there has been none for a while. */
class ReaderWhenAsked {
  readonly #data: ThreadData
  readonly #hear: Hear
  #thread: StoreThread | undefined
  #reading = 0
  #idle: NodeJS.Timeout | undefined
  #ending: Promise<void> = Promise.resolve()
  #isClosed = false
  readonly #spare = new SpareFiles(readerFiles)

  constructor(data: ThreadData, hear: Hear) {
    this.#data = data
    const onReaderLost = (error: Error): void => {
      this.#thread = undefined
      this.#keepSpare()
      hear.onReaderLost?.(error)
    }
    this.#hear = { ...hear, onReaderLost }
    this.#spare.keep()
  }

  async read<R extends Row>(sql: string, params: Record<string, Value>): Promise<R[]> {
    clearTimeout(this.#idle)
    this.#reading++
    try {
      return await (await this.#opened()).read<R>(sql, params)
    } finally {
      if (--this.#reading === 0 && !this.#isClosed) this.#idle = setTimeout(() => void this.#rest(), readerIdleMs).unref()
    }
  }

  async #opened(): Promise<StoreThread> {
    if (this.#isClosed) throw new ClosedError()
    if (this.#thread?.hasEnded) this.#thread = undefined
    if (!this.#thread) this.#spare.giveUp()
    const thread = (this.#thread ??= new StoreThread(threadOf(this.#data), this.#hear))
    try {
      await thread.opened
    } catch (error) {
      // What kept it from starting, such as too few file descriptors, may be over by the next slow read.
      if (this.#thread === thread) this.#thread = undefined
      this.#keepSpare()
      throw error
    }
    return thread
  }

  async #rest(): Promise<void> {
    this.#ending = this.#endThread()
    await this.#ending
    this.#keepSpare()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#idle)
    this.#spare.giveUp()
    await this.#ending
    await this.#endThread()
  }

  #keepSpare(): void {
    if (!this.#thread && !this.#isClosed) this.#spare.keep()
  }

  async #endThread(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    if (thread?.hasEnded === false) await thread.request({ type: 'close' }).catch(() => {})
  }
}

function upkeepBy(writer: StoreThread): StoreUpkeep {
  const doTask = async (task: UpkeepTask): Promise<boolean> => {
    const answer = await writer.request({ type: 'upkeep', task })
    return 'is' in answer && answer.is
  }
  return {
    shrink: () => doTask('shrink'),
    emptyLog: () => doTask('empty-log'),
    needsRewriting: () => doTask('needs-rewriting'),
    async overwriteUnused(from) {
      const answer = await writer.request({ type: 'overwrite', from })
      return 'next' in answer ? answer.next : null
    },
  }
}

/**
 * Opens the embedded database in `directory`, creates it if there is none, and upgrades its schema. After `onFatal` the process must
 * end; the next start finds everything that was acknowledged.
 * @throws SternaError `configuration` if another process holds the directory, its database is gone, a newer version wrote it, or an older
 *   one did and `olderSchema` refuses that
 */
export async function openDatabase(options: DatabaseOptions): Promise<{ db: Database; files: StoreFiles }> {
  const { directory, busyTimeoutMs, sharedCells, olderSchema, backsUpUpgrades, copyLimit, ...hear } = options
  const copied = CopiedPosition.newCells()
  const copying = copyLimit === undefined ? undefined : { sharedCells: copied, maxBytes: copyLimit }
  const data: ThreadData = { directory, role: 'writer', busyTimeoutMs, sharedCells, olderSchema, backsUpUpgrades, copying }
  const writer = new StoreThread(threadOf(data), hear)
  await writer.opened
  return { db: databaseOn(writer, directory, hear), files: filesOf(writer, directory, copied) }
}

function databaseOn(writer: StoreThread, directory: string, hear: Hear): Database {
  const reader = new ReaderWhenAsked({ directory, role: 'reader' }, hear)
  const turns = new KeyedMutex()
  const listeners = new InsertListeners()
  return {
    read: (sql, params = {}) => writer.read(sql, params),
    slowRead<R extends Row>(sql: string, params: Record<string, Value> = {}) {
      const ask = (): Promise<R[]> => reader.read<R>(sql, params)
      const owner = params['accountId'] ?? params['webhookId']
      return typeof owner === 'string' ? turns.take(owner, ask) : ask()
    },
    async write(batch: Statement[], { mayBatch = false, onStoreTime } = {}): Promise<Written[]> {
      const concerned = listeners.of(batch)
      const answer = await writer.write(batch, { mayBatch, isTimed: onStoreTime !== undefined })
      if (!('written' in answer)) return []
      if (answer.ms !== undefined) onStoreTime?.(answer.ms)
      for (const heard of concerned) for (const each of heard) each()
      return answer.written.map(writtenOf)
    },
    damaged(table, problem) {
      const error = new DamagedError(problem, { tables: [table], keepsOut: false, statement: 0 })
      hear.onDamage?.(error)
      return error
    },
    onInsert: (table, heard) => listeners.add(table, heard),
    async close() {
      await reader.close()
      await writer.request({ type: 'close' })
    },
  }
}

function filesOf(writer: StoreThread, directory: string, sharedCells: SharedArrayBuffer): StoreFiles {
  const database = databaseFile(directory)
  return {
    directory,
    paths: { database, log: `${database}-wal`, shared: `${database}-shm` },
    lock: lockFile(directory),
    backup: async (file) => void (await writer.request({ type: 'backup', file, isMarked: true })),
    copying: {
      log: { dataDir: directory, database, sharedCells },
      begin: async (generation) => void (await writer.request({ type: 'begin-copy', generation })),
      snapshot: async (file) => void (await writer.request({ type: 'backup', file, isMarked: false })),
    },
    upkeep: upkeepBy(writer),
    removeUpgradeBackups: (before) => removeUpgradeBackups(directory, before),
  }
}
