import { setTimeout as pause } from 'node:timers/promises'
import { SternaError } from '../../errors.ts'
import { migrations, requireCurrent, servedFrom, type SchemaStep } from '../schema-steps.ts'
import type { Upgrade } from '../store.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { postgresSchema } from './postgres-dialect.ts'
import { isBlocked } from './postgres-errors.ts'
import type { PostgresPlace } from './postgres-url.ts'
import { endDeadNodes, requireNobodyServing, type DeadNodes } from './nodes-before.ts'
import { readSchema, requireServed, servedSchema, type ServedSchema } from './served-schema.ts'

/** The oldest that this has been tried with. */
const oldestServer = 15

/** @throws SternaError `configuration` if the server is too old, or the database cannot hold all text */
export async function requireFit(connection: PostgresConnection): Promise<void> {
  const { rows } = await connection.run(
    "select current_setting('server_version_num')::bigint / 10000 as version, current_setting('server_encoding') as encoding",
  )
  const { version, encoding } = (rows?.[0] ?? {}) as { version?: number; encoding?: string }
  if ((version ?? 0) < oldestServer) {
    throw new SternaError(
      'configuration',
      `The database is on PostgreSQL ${version}, and Sterna needs ${oldestServer} or newer. Upgrade it.`,
    )
  }
  if (encoding === 'UTF8') return
  throw new SternaError(
    'configuration',
    `The database has the encoding ${encoding}, which cannot hold all mail. Create one with: create database sterna encoding 'UTF8' template template0.`,
  )
}

/** The schema that a database has; of the version 0 if it has none yet. */
export async function schemaOf(connection: PostgresConnection): Promise<ServedSchema> {
  const { rows } = await connection.run("select to_regclass('schema_version')::text as name")
  if (rows?.[0]?.['name'] === null) return servedSchema()
  return servedSchema((await connection.run(readSchema)).rows?.[0])
}

/** The server's words for what somebody else has just created. */
const createdByOther = new Set(['23505', '42P07', '42710'])

/** What is this engine's own: the number of the schema, and the row that whoever appends to the log of events locks. */
async function prepareTables(connection: PostgresConnection): Promise<void> {
  try {
    await connection.run('create table if not exists schema_version (version bigint not null)')
  } catch (error) {
    if (!createdByOther.has(String((error as { code?: unknown }).code))) throw error
    await prepareTables(connection)
  }
}

/** The wait before a change is tried again that others were in the way of, ms: it doubles up to the longest. */
const firstWaitMs = 1_000
const maxWaitMs = 10_000

interface Migrating {
  olderSchema: 'upgrade' | 'refuse' | 'keep'
  /** Called before an existing schema changes, and once more if that has to wait. */
  onUpgrade(upgrade: Upgrade): void
  /** Default: those of this version. */
  steps?: readonly SchemaStep[]
}

/**
 * Makes the database ready for this version. Another node may be at it, and take its time.
 * @throws SternaError `configuration` if it cannot be used
 */
export async function prepareDatabase(place: PostgresPlace, migrating: Migrating): Promise<void> {
  const connection = await PostgresConnection.open(place, { isPatient: true })
  try {
    await requireFit(connection)
    await migrate(connection, migrating)
  } finally {
    await connection.close()
  }
}

/**
 * Makes the schema, or brings it up to date: all of it, or nothing. Of several that start at once, one does so while the others wait.
 * While somebody uses a table that it changes, such as pg_dump, it is tried again.
 * @throws SternaError `configuration` if the schema is newer, and not for this version; older and `olderSchema` refuses that; or older, and
 *   nodes serve that cannot with the newer
 */
async function migrate(connection: PostgresConnection, { olderSchema, onUpgrade, steps = migrations() }: Migrating): Promise<void> {
  const newest = steps.at(-1)?.version ?? 0
  const before = await schemaOf(connection)
  requireServed(before, newest)
  if (before.version >= newest || (olderSchema === 'keep' && before.version > 0)) return
  if (olderSchema === 'refuse' && before.version > 0) requireCurrent(before.version, 'server', newest)
  const isForAll = before.version === 0 || servedFrom(steps) <= before.version
  const dead = isForAll ? null : await requireNobodyServing(connection)
  await prepareTables(connection)
  let told: Upgrade | undefined
  const tell = (upgrade: Upgrade): void => void (told ?? onUpgrade((told = upgrade)))
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
    try {
      return await changeSchema(connection, { steps, dead, tell })
    } catch (error) {
      if (!isBlocked(error)) throw error
      if (told && !told.isWaiting) onUpgrade((told = { ...told, isWaiting: true }))
    }
    await pause(waitMs)
  }
}

interface SchemaChange {
  steps: readonly SchemaStep[]
  /** Null if the nodes that serve can go on. */
  dead: DeadNodes | null
  tell(upgrade: Upgrade): void
}

/**
 * One try, in one transaction. It waits long for another node that is at it, but for other tables only as long as a session does: nodes serve,
 * which wait for all that it has locked already.
 */
async function changeSchema(connection: PostgresConnection, { steps, dead, tell }: SchemaChange): Promise<void> {
  const newest = steps.at(-1)?.version ?? 0
  await connection.run('begin')
  try {
    await connection.run("set local lock_timeout = '10min'")
    await connection.run('lock table schema_version in exclusive mode')
    await connection.run("set local lock_timeout = '1s'")
    const found = await schemaOf(connection)
    requireServed(found, newest)
    if (dead) await endDeadNodes(connection, dead)
    const { version: from } = found
    if (from > 0 && from < newest) tell({ from, to: newest, backup: null, size: await sizeOf(connection) })
    if (from < newest) await makeSchema(connection, from, steps)
    await connection.run('commit')
  } catch (error) {
    await connection.run('rollback').catch(() => {})
    throw error
  }
}

/**
 * Makes what is missing of the schema, inside a transaction; `schema_version` is there.
 * @param found the schema that there is; 0: none
 */
async function makeSchema(connection: PostgresConnection, found: number, steps: readonly SchemaStep[]): Promise<void> {
  for (const { version, sql } of steps) if (version > found) await connection.execute(postgresSchema(sql))
  if (found === 0) await connection.execute(ownTables)
  await connection.run('alter table schema_version add column if not exists served_from bigint')
  await connection.run('delete from schema_version')
  const newest = steps.at(-1)?.version ?? 0
  await connection.run(`insert into schema_version (version, served_from) values (${newest}, ${servedFrom(steps)})`)
}

/** Makes the schema of an empty database, inside a transaction. */
export async function makeFirstSchema(connection: PostgresConnection): Promise<void> {
  await prepareTables(connection)
  await makeSchema(connection, 0, migrations())
}

/** The tables of this engine alone. */
export const engineTables: ReadonlySet<string> = new Set(['schema_version', 'event_order'])

/** Content is compressed by nobody: encrypted, or made of pictures, it does not become smaller. */
const ownTables = `
  create table event_order (name text primary key);
  insert into event_order (name) values ('event');
  alter table content alter column bytes set storage external;`

/** Bytes. */
export async function sizeOf(connection: PostgresConnection): Promise<number> {
  return Number((await connection.run('select pg_database_size(current_database()) as size')).rows?.[0]?.['size'] ?? 0)
}
