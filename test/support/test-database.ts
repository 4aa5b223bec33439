import { onTestFinished } from 'vitest'
import type { Database, Statement } from '../../src/platform/store/database.ts'
import { openPostgres } from '../../src/platform/store/postgresql/postgres-database.ts'
import type { StoreFiles } from '../../src/platform/store/store.ts'
import { openDatabase } from '../../src/platform/store/sqlite/sqlite-database.ts'
import { dropPostgres, emptyPostgres, newPostgresUrl } from './postgres-databases.ts'
import { processDirectory } from './temporary-directory.ts'
import { isOnPostgres } from './tests-on-postgres.ts'

type AtEnd = (close: () => Promise<void>) => void

interface FreeStore {
  db: Database
  files: StoreFiles | null
  /** Leaves in it what a new one has. False: its tables are not those of a new one. */
  empty(): Promise<boolean>
  remove(): Promise<void>
}

/** Those that nobody holds. */
const free: FreeStore[] = []

/**
 * A database with nothing in it, closed with the running test or when `atEnd` says. To open one takes longer than most tests do, so it may be
 * one that was closed before in this process, emptied: who still holds that one finds it closed.
 */
export const testDatabase = async (atEnd?: AtEnd): Promise<Database> => (await testStore(atEnd)).db

/** A database as `testDatabase`, with its files. */
export async function testStore(atEnd: AtEnd = onTestFinished): Promise<{ db: Database; files: StoreFiles | null }> {
  const store = free.pop() ?? (await (isOnPostgres ? openPostgresStore() : openSqliteStore()))
  const { db } = store
  let closed: Promise<void> | undefined
  const unfollow: (() => void)[] = []
  const whileOpen = <T>(use: () => Promise<T>): Promise<T> => (closed ? Promise.reject(new Error('the store is closed')) : use())
  const lent: Database = {
    read: (sql, params) => whileOpen(() => db.read(sql, params)),
    slowRead: (sql, params) => whileOpen(() => db.slowRead(sql, params)),
    write: (batch, options) => whileOpen(() => db.write(batch, options)),
    damaged: (table, problem) => db.damaged(table, problem),
    onInsert(table, heard) {
      const end = db.onInsert(table, heard)
      unfollow.push(end)
      return end
    },
    close() {
      for (const end of unfollow) end()
      return (closed ??= giveBack(store))
    },
  }
  atEnd(() => lent.close())
  return { db: lent, files: store.files }
}

/** Comes after all that was handed over. */
async function giveBack(store: FreeStore): Promise<void> {
  if (await store.empty()) free.push(store)
  else await store.remove()
}

const onFatal = (error: Error): never => {
  throw error
}

async function openPostgresStore(): Promise<FreeStore> {
  const url = await newPostgresUrl()
  const db = await openPostgres({ url, onFatal })
  return {
    db,
    files: null,
    // A test may have joined it as a node.
    empty: async () => (await db.write([{ sql: emptyPostgres }], { as: null }))[0]?.rows[0]?.['is_empty'] === 't',
    async remove() {
      await db.close()
      await dropPostgres(url)
    },
  }
}

async function openSqliteStore(): Promise<FreeStore> {
  const { db, files } = await openDatabase({ directory: processDirectory(), onFatal })
  const version = await schemaVersion(db)
  const emptying = await emptyingOf(db)
  return {
    db,
    files,
    async empty() {
      if ((await schemaVersion(db)) !== version) return false
      await db.write(emptying)
      return true
    },
    remove: () => db.close(),
  }
}

async function schemaVersion(db: Database): Promise<number> {
  const [row] = await db.read<{ schema_version: number }>('select schema_version from pragma_schema_version')
  return row?.schema_version ?? 0
}

/** Tables refer to older ones, so the newest go first; rows that came with the schema come back. */
async function emptyingOf(db: Database): Promise<Statement[]> {
  const tables = await db.read<{ name: string }>("select name from sqlite_schema where type = 'table' order by rowid")
  const inserts: Statement[] = []
  for (const { name } of tables) {
    for (const params of await db.read(`select * from ${name}`)) {
      const columns = Object.keys(params)
      inserts.push({
        sql: `insert into ${name} (${columns.join(', ')}) values (${columns.map((column) => `:${column}`).join(', ')})`,
        params,
      })
    }
  }
  return [...tables.toReversed().map(({ name }) => ({ sql: `delete from ${name}` })), ...inserts]
}
