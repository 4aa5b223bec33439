import { inject } from 'vitest'
import { PostgresConnection } from '../../src/platform/store/postgresql/postgres-connection.ts'
import { postgresPlace } from '../../src/platform/store/postgresql/postgres-url.ts'
import { onFileFinished } from './file-finished.ts'
import { isOnPostgres } from './tests-on-postgres.ts'

let made = 0
let server: Promise<PostgresConnection> | undefined

/** Runs a statement at the server, outside the databases of tests. */
async function atServer(sql: string): Promise<void> {
  server ??= PostgresConnection.open({ ...postgresPlace(inject('postgresTemplate')), database: 'postgres' }, { isPatient: true })
  await (await server).run(sql)
}

/** `store.url` of a new database of the run's server: it has the schema, and nothing in it. */
export async function newPostgresUrl(): Promise<string> {
  const template = inject('postgresTemplate')
  const { database } = postgresPlace(template)
  const name = `test_${process.pid}_${++made}`
  await atServer(`create database ${name} template ${database}`)
  return template.replace(`/${database}?`, `/${name}?`)
}

export const dropPostgres = (url: string): Promise<void> => atServer(`drop database ${postgresPlace(url).database} with (force)`)

/** Leaves in a database what a new one has. Says whether its tables are those of a new one too. */
export const emptyPostgres = 'select as_made.empty() as is_empty'

interface Lent {
  url: string
  /** The connection that empties it, open from the first time on: on a new one each statement of it would be planned anew. */
  connection: Promise<PostgresConnection> | null
}

/** Those that nobody uses. */
const free: Lent[] = []

/** `store.url` of an empty database, which may have been another's before. Whoever has given it back writes nothing more. */
export async function lendPostgres(): Promise<{ url: string; giveBack: () => Promise<void> }> {
  const lent = free.pop() ?? { url: await newPostgresUrl(), connection: null }
  const giveBack = async (): Promise<void> => {
    lent.connection ??= PostgresConnection.open(postgresPlace(lent.url))
    const connection = await lent.connection
    const { rows } = await connection.run(emptyPostgres)
    if (rows?.[0]?.['is_empty'] === 't') free.push(lent)
    else await connection.close().then(() => dropPostgres(lent.url))
  }
  return { url: lent.url, giveBack }
}

const ofDirectory = new Map<string, Promise<string>>()

/**
 * The settings that say where servers and commands on this data directory have their database, named as in the environment, without `STERNA_`:
 * none on SQLite. It ends with the file of tests.
 */
export async function storeSettings(dataDir: string): Promise<{ STORE_URL?: string }> {
  if (!isOnPostgres) return {}
  const found = ofDirectory.get(dataDir)
  if (found) return { STORE_URL: await found }
  const made = newPostgresUrl()
  ofDirectory.set(dataDir, made)
  onFileFinished(async () => dropPostgres(await made))
  return { STORE_URL: await made }
}
