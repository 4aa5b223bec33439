import { compact, keepTemporaryFilesIn, type CompactPlan } from './sqlite/compact.ts'
import { commitTo, databaseFile, findDatabase, newRestoredName } from './sqlite/data-directory.ts'
import { holdDirectory, requireIdle } from './sqlite/hold-directory.ts'
import { newestSchema, requireKnown } from './schema-steps.ts'
import { schemaOf } from './sqlite/migrate.ts'
import { openReader, requireWhole } from './sqlite/sqlite-connection.ts'
import { upgradeOf } from './sqlite/upgrade-backup.ts'
import type { StorePlace } from './open-store.ts'
import type { Upgrade } from './store.ts'

export type { CompactPlan }

/** The store of a data directory, for what is done while no process has it open. */
export interface ClosedStore {
  /** True if nothing was ever stored. @throws SternaError `configuration` if what was is gone, or cannot be reached */
  isNew(): Promise<boolean>
  /**
   * The schema that it has, and what opening it would change; null: nothing.
   * @throws SternaError `configuration` if it is gone or cannot be reached, or a newer version wrote it
   */
  findUpgrade(isBackedUp: boolean): Promise<FoundUpgrade>
  /** Null for a database on a server, as in `Store`. */
  files: ClosedFiles | null
}

export interface FoundUpgrade {
  found: number
  newest: number
  plan: Upgrade | null
}

/** What only a database in files of its own can do while it is closed. */
export interface ClosedFiles {
  /** True if nothing was ever stored. @throws SternaError `configuration` if what was is gone */
  isNew(): boolean
  /** The file of the database, whether or not there is one. */
  database: string
  /** @throws SternaError `invalid_state` if the database is damaged, or not one of ours */
  requireWhole(): void
  /**
   * Takes the directory for this process, even if its database is damaged or gone.
   * @throws SternaError `configuration` if another process has it
   */
  hold(): HeldFiles
  /**
   * Rewrites the database, as `compact`.
   * @throws SternaError `configuration` if another process has it or it is gone, `invalid_state` if there is too little disk space
   */
  compact(tell: (plan: CompactPlan) => void): { before: number; after: number }
}

export interface HeldFiles {
  /** The name of a directory for another database. */
  newName(): string
  /** Makes this file the database: the one step by which the directory gets another one. */
  commitTo(file: string): void
  release(): void
}

export const closedStore = ({ dataDir, store: { url } }: StorePlace): ClosedStore =>
  url === null ? closedDirectory(dataDir) : closedServer(url.reveal())

const closedServer = (url: string): ClosedStore => ({
  async isNew() {
    const { schemaAt } = await import('./postgresql/schema-at.ts')
    return (await schemaAt(url)).found.version === 0
  },
  async findUpgrade() {
    const { schemaAt, requireServed } = await import('./postgresql/schema-at.ts')
    const [{ found, size }, newest] = [await schemaAt(url), newestSchema()]
    requireServed(found)
    const { version } = found
    return { found: version, newest, plan: version === 0 || version >= newest ? null : { from: version, to: newest, backup: null, size } }
  },
  files: null,
})

const closedDirectory = (directory: string): ClosedStore => ({
  isNew: async () => findDatabase(directory).isNew,
  async findUpgrade(isBackedUp) {
    // Without it, SQLite would say that it cannot open a file.
    findDatabase(directory)
    const connection = openReader(directory)
    try {
      const [found, newest] = [schemaOf(connection), newestSchema()]
      requireKnown(found, 'files', newest)
      return { found, newest, plan: upgradeOf(connection, newest, { directory, isBackedUp }) }
    } finally {
      connection.close()
    }
  },
  files: {
    isNew: () => findDatabase(directory).isNew,
    get database() {
      return databaseFile(directory)
    },
    requireWhole: () => requireWhole(directory),
    hold: () => hold(directory),
    compact(tell) {
      keepTemporaryFilesIn(directory)
      const { file } = findDatabase(directory)
      const held = hold(directory)
      try {
        return compact(file, tell)
      } finally {
        held.release()
      }
    },
  },
})

function hold(directory: string): HeldFiles {
  const held = holdDirectory(directory)
  try {
    requireIdle(directory, held)
  } catch (error) {
    held.release()
    throw error
  }
  return {
    newName: () => newRestoredName(directory),
    commitTo: (file) => commitTo(directory, file, held.lock),
    release: () => held.release(),
  }
}
