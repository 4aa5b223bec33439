import { setTimeout as pause } from 'node:timers/promises'
import { SternaError } from '../../errors.ts'
import type { CopiedMark } from '../copied-mark.ts'
import type { CopySource, TableShape } from '../copy-sides.ts'
import { requireCurrent } from '../schema-steps.ts'
import { silentMs } from '../silence.ts'
import { openForCopy } from './open-for-copy.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import { openErrorOf } from './postgres-errors.ts'
import { requireFit, schemaOf, sizeOf } from './postgres-schema.ts'
import { rowsOn, tablesOn } from './postgres-tables.ts'
import { postgresPlace, type PostgresPlace } from './postgres-url.ts'

/**
 * The data of a database on a server, of which nobody can change a row until the end.
 * @param tell writes a line for the person who waits
 * @throws SternaError `configuration` if it cannot be reached or has the schema of another version, `invalid_state` if nodes work on it,
 *   `not_found` if it holds nothing
 */
export async function postgresSource(url: string, tell: (line: string) => void): Promise<CopySource> {
  const place = postgresPlace(url)
  try {
    const connection = await openForCopy(place)
    try {
      return await sourceOn(connection, place, tell)
    } catch (error) {
      await connection.close()
      throw error
    }
  } catch (error) {
    throw openErrorOf(error, place)
  }
}

async function sourceOn(connection: PostgresConnection, { shown }: PostgresPlace, tell: (line: string) => void): Promise<CopySource> {
  await requireFit(connection)
  const { version: found } = await schemaOf(connection)
  if (found === 0) throw new SternaError('not_found', `There is no server's data in ${shown}, so there is nothing to copy.`)
  requireCurrent(found, 'server')
  const dead = await requireNoNode(connection, shown, tell)
  const tables = await tablesOn(connection)
  await connection.run('begin isolation level repeatable read')
  await lockAll(connection, tables, shown)
  const beats = await beatsOn(connection)
  if (beats !== dead) throw nodesServe(shown)
  const [key] = (await connection.run('select fingerprint from secret_key')).rows ?? []
  const [mark] = (await connection.run('select target, copied_at from store_copy')).rows ?? []
  return {
    shown,
    size: await sizeOf(connection),
    fingerprint: key ? String(key['fingerprint']) : null,
    copied: (mark as CopiedMark | undefined) ?? null,
    tables: async () => tables,
    rows: (shape) => rowsOn(connection, shape),
    replaced: () => 0,
    async mark(target, now) {
      await connection.run('insert into store_copy (target, copied_at) values ($1, $2)', [target, now])
      await connection.run('commit')
    },
    unmark: async () => void (await connection.run('delete from store_copy')),
    close: () => connection.close(),
  }
}

/**
 * Whether a node lives only shows in time: its counter moves.
 * @returns the counters of those that are dead
 */
async function requireNoNode(connection: PostgresConnection, shown: string, tell: (line: string) => void): Promise<string> {
  const before = await beatsOn(connection)
  if (before === '') return before
  tell('Some nodes have not said that they stopped. Waiting to see whether they still run.')
  await pause(silentMs)
  if ((await beatsOn(connection)) === before) return before
  throw nodesServe(shown)
}

async function beatsOn(connection: PostgresConnection): Promise<string> {
  const { rows } = await connection.run('select name, beat from node order by name')
  return (rows ?? []).map(({ name, beat }) => `${name} ${beat}`).join('\n')
}

/** Others may read, and nobody can write. */
async function lockAll(connection: PostgresConnection, tables: readonly TableShape[], shown: string): Promise<void> {
  try {
    await connection.run(`lock table ${tables.map(({ table }) => table).join(', ')} in share mode`)
  } catch (error) {
    if ((error as { code?: unknown }).code !== '55P03') throw error
    throw new SternaError('invalid_state', `Something writes to ${shown}. Stop all nodes and commands that work on it, then copy it.`)
  }
}

const nodesServe = (shown: string): SternaError =>
  new SternaError('invalid_state', `Nodes work on ${shown}. Nothing was changed. Stop all of them, then copy it.`)
