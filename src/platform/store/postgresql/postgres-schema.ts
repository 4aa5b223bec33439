import { SternaError } from '../../errors.ts'
import { migrations, newestSchema, requireCurrent, requireKnown } from '../schema-steps.ts'
import type { Upgrade } from '../store.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { postgresSchema } from './postgres-dialect.ts'
import type { PostgresPlace } from './postgres-url.ts'

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

/** The schema that a database has; 0 if it has none yet. */
export async function schemaOf(connection: PostgresConnection): Promise<number> {
  const { rows } = await connection.run("select to_regclass('schema_version')::text as name")
  if (rows?.[0]?.['name'] === null) return 0
  return Number((await connection.run('select version from schema_version')).rows?.[0]?.['version'] ?? 0)
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

interface Migrating {
  olderSchema: 'upgrade' | 'refuse' | 'keep'
  /** Called before an existing schema changes. */
  onUpgrade(upgrade: Upgrade): void
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
 * @throws SternaError `configuration` if the schema is newer than what this version knows, or older and `olderSchema` refuses that
 */
async function migrate(connection: PostgresConnection, { olderSchema, onUpgrade }: Migrating): Promise<void> {
  const newest = newestSchema()
  const before = await schemaOf(connection)
  if (olderSchema === 'refuse' && before > 0) requireCurrent(before, newest)
  requireKnown(before, newest)
  if (before === newest || (olderSchema === 'keep' && before > 0)) return
  await prepareTables(connection)
  await connection.run("set lock_timeout = '10min'")
  await connection.run('begin')
  try {
    await connection.run('lock table schema_version in exclusive mode')
    const found = await schemaOf(connection)
    requireKnown(found, newest)
    if (found > 0 && found < newest) onUpgrade({ from: found, to: newest, backup: null, size: await sizeOf(connection) })
    await makeSchema(connection, found)
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
async function makeSchema(connection: PostgresConnection, found: number): Promise<void> {
  for (const { version, sql } of migrations()) if (version > found) await connection.execute(postgresSchema(sql))
  if (found === 0) await connection.execute(ownTables)
  await connection.run('delete from schema_version')
  await connection.run(`insert into schema_version (version) values (${newestSchema()})`)
}

/** Makes the schema of an empty database, inside a transaction. */
export async function makeFirstSchema(connection: PostgresConnection): Promise<void> {
  await prepareTables(connection)
  await makeSchema(connection, 0)
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
