import { FileUpkeep } from '../../src/platform/store/sqlite/file-upkeep.ts'
import { DamagedError, type Database, type Row, type Written } from '../../src/platform/store/database.ts'
import { GroupCommit } from '../../src/platform/store/sqlite/group-commit.ts'
import { migrate } from '../../src/platform/store/sqlite/migrate.ts'
import { PreparedStatements, positional } from '../../src/platform/store/sqlite/prepared-statements.ts'
import { openReader, openWriter } from '../../src/platform/store/sqlite/sqlite-connection.ts'
import { StatementNumbers } from '../../src/platform/store/statement-numbers.ts'
import { writtenOf } from '../../src/platform/store/thread-messages.ts'
import type { StoreFiles } from '../../src/platform/store/store.ts'

/** How long something held the store thread, ms. */
interface Hold {
  what: string
  /** By the clock, and of the processor: on a busy machine the one tells of others too. */
  wall: number
  cpu: number
}

export interface TimedStore {
  db: Database
  files: Pick<StoreFiles, 'upkeep'>
  /** All since the last call. */
  takeHolds(): Hold[]
}

/**
 * A database whose store works in this thread, so that each of its turns can be timed. It does not flush: what is measured is all
 * but the disk.
 */
export function timedStore(directory: string): TimedStore {
  const connection = openWriter(directory)
  migrate(connection)
  connection.pragma('synchronous = off')
  const reader = openReader(directory)
  const upkeep = new FileUpkeep(connection)
  const statements = new PreparedStatements(connection)
  const numbers = new StatementNumbers(positional)
  const group = new GroupCommit(connection, statements)
  let holds: Hold[] = []

  async function timed<T>(what: string, work: () => T): Promise<T> {
    // Others have their turn in between, as where the store has a thread.
    await new Promise((resolve) => setImmediate(resolve))
    const [startedAt, cpu] = [performance.now(), process.threadCpuUsage()]
    const result = work()
    const { user, system } = process.threadCpuUsage(cpu)
    holds.push({ what: what.replace(/\s+/g, ' ').trim().slice(0, 60), wall: performance.now() - startedAt, cpu: (user + system) / 1000 })
    return result
  }

  const db: Database = {
    async read<R extends Row>(sql: string, params = {}) {
      const [number, values] = numbers.numbered({ sql, params })
      statements.learn(numbers.takeUntold())
      return (await timed(sql, () => statements.at(number).all(values))) as R[]
    },
    async slowRead<R extends Row>(sql: string, params = {}) {
      return reader.prepare(sql).all(params) as R[]
    },
    async write(batch, { onStoreTime } = {}): Promise<Written[]> {
      const numbered = batch.map((statement) => numbers.numbered(statement))
      statements.learn(numbers.takeUntold())
      const [result] = await timed(batch[0]?.sql ?? '', () => group.commit([numbered]))
      if (!result || 'error' in result) throw new Error(result?.error.message)
      onStoreTime?.(result.ms)
      return result.written.map(writtenOf)
    },
    damaged: (table, problem) => new DamagedError(problem, { tables: [table], keepsOut: false, statement: 0 }),
    onInsert: () => () => {},
    async close() {
      reader.close()
      connection.close()
      upkeep.close()
    },
  }
  const files = {
    upkeep: {
      shrink: () => timed('upkeep: shrink', () => upkeep.shrink()),
      emptyLog: () => timed('upkeep: empty the log', () => upkeep.emptyLog()),
      overwriteUnused: (from: number) => timed('upkeep: overwrite', () => upkeep.overwriteUnused(from)),
      needsRewriting: async () => upkeep.do('needs-rewriting'),
    },
  }
  return {
    db,
    files,
    takeHolds() {
      const taken = holds
      holds = []
      return taken
    },
  }
}
