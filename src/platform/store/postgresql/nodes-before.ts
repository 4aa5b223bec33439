import { setTimeout as pause } from 'node:timers/promises'
import { SternaError } from '../../errors.ts'
import type { Row } from '../database.ts'
import { silentMs } from '../silence.ts'
import type { PostgresConnection } from './postgres-connection.ts'

/** The nodes that have died without a word, by their names, with the beats at which they stopped. */
export type DeadNodes = ReadonlyMap<string, number>

const everyNode = 'select * from node where beat >= 0 order by name'

/**
 * Before a change of the schema that nodes of earlier versions cannot live with: waits until those that are there are known to be dead.
 * @throws SternaError `configuration` if one serves
 */
export async function requireNobodyServing(connection: PostgresConnection): Promise<DeadNodes> {
  const dead = new Map((await nodesOf(connection)).map(({ name, beat }) => [String(name), Number(beat)]))
  if (dead.size === 0) return dead
  await pause(silentMs)
  await requireOnly(connection, dead)
  return dead
}

/**
 * In the transaction of the change: no node joins before it ends. A dead one that wakes does nothing more; what it has in hand is freed when
 * another buries it.
 * @throws SternaError `configuration` if one serves after all
 */
export async function endDeadNodes(connection: PostgresConnection, dead: DeadNodes): Promise<void> {
  await connection.run('lock table node in share row exclusive mode')
  await requireOnly(connection, dead)
  await connection.run('update node set beat = -1 where beat >= 0')
}

const nodesOf = async (connection: PostgresConnection): Promise<Row[]> => (await connection.run(everyNode)).rows ?? []

async function requireOnly(connection: PostgresConnection, dead: DeadNodes): Promise<void> {
  const living = (await nodesOf(connection)).filter(({ name, beat }) => dead.get(String(name)) !== Number(beat))
  if (living.length > 0) throw refusal(living)
}

const refusal = (living: readonly Row[]): SternaError =>
  new SternaError(
    'configuration',
    `Nodes of an earlier version serve on this database (${living.map((node) => `${node['name']} on ${node['machine']}, version ${node['version']}`).join('; ')}), ` +
      'and cannot with the schema of this version. Nothing was changed. Stop all of them, then start this one: docs/scaling.md.',
  )
