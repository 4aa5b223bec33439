import { startThread } from '../../program.ts'
import { DamagedError, type Database, type Row, type Statement, type Value, type Written } from '../database.ts'
import { InsertListeners } from '../insert-listeners.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import { StoreThread, type EngineThread, type Hear } from '../store-thread.ts'
import { writtenOf } from '../thread-messages.ts'
import { postgresStatement } from './postgres-dialect.ts'
import type { PostgresThreadData } from './postgres-thread.ts'
import { readSchema, requireServed, servedSchema } from './served-schema.ts'

const threadOf = (data: PostgresThreadData): EngineThread => ({
  role: 'writer',
  start: () => startThread(new URL('./postgres-thread.ts', import.meta.url), { workerData: data, name: 'database' }),
  formOf: postgresStatement,
})

/** Several nodes write to it. */
export interface ServedDatabase extends Database {
  /** By the clock of the server, epoch ms. */
  time(): Promise<number>
  /** @throws SternaError `configuration` if another version has changed the schema to one that this version cannot serve with */
  requireServed(): Promise<void>
  /** Another node has added rows to this table: calls whom `onInsert` registered. */
  tellOfInserts(table: string): void
}

/**
 * Opens a database on a server of PostgreSQL, makes its schema if it has none, and brings an older one up to date. After `onFatal` the process
 * must end.
 * @throws SternaError `configuration`, with what to do, if it cannot be reached or used, a newer version wrote it, or an older one did and
 *   `olderSchema` refuses that
 */
export async function openPostgres(options: PostgresThreadData & Hear): Promise<ServedDatabase> {
  const { url, sharedCells, olderSchema, ...hear } = options
  const thread = new StoreThread(threadOf({ url, sharedCells, olderSchema }), hear)
  await thread.opened
  const turns = new KeyedMutex()
  const listeners = new InsertListeners()
  return {
    read: (sql, params = {}) => thread.read(sql, params),
    slowRead<R extends Row>(sql: string, params: Record<string, Value> = {}) {
      const ask = (): Promise<R[]> => thread.read<R>(sql, params, { isSlow: true })
      const owner = params['accountId'] ?? params['webhookId']
      return typeof owner === 'string' ? turns.take(owner, ask) : ask()
    },
    async write(batch: Statement[], { mayBatch = false, as, onStoreTime } = {}): Promise<Written[]> {
      const concerned = listeners.of(batch)
      const locks = batch.flatMap((statement) => statement.locks ?? [])
      const more = { ...(locks.length > 0 && { locks }), ...(as !== undefined && { as }) }
      const answer = await thread.write(batch, { mayBatch, isTimed: onStoreTime !== undefined, ...more })
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
    tellOfInserts: (table) => listeners.tell(table),
    async time() {
      const [row] = await thread.read<{ time: number }>('select floor(extract(epoch from clock_timestamp()) * 1000) as time', {})
      return row?.time ?? Number.NaN
    },
    async requireServed() {
      const [row] = await thread.read(readSchema, {})
      requireServed(servedSchema(row))
    },
    close: async () => void (await thread.request({ type: 'close' })),
  }
}
