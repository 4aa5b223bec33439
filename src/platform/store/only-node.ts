import type { Clock } from '../clock.ts'
import { newId } from '../id.ts'
import type { Database, Statement } from './database.ts'
import { LeaseDeadline } from './lease-deadline.ts'
import { LimitParts } from './limit-parts.ts'
import type { Joining, Nodes } from './nodes.ts'

/**
 * Where one process at a time holds the database. Other names were those of its earlier lives: what they had in hand is free from now on, and
 * so is what this one has when it ends.
 */
export async function onlyNode(
  { db, clock }: { db: Pick<Database, 'write'>; clock: Clock },
  { version }: Pick<Joining, 'version'>,
): Promise<Nodes> {
  const now = clock.now()
  const name = newId('node', now)
  await db.write([{ sql: 'delete from node' }, insertNode({ name, now, version })], { as: name })
  return aloneAs(name)
}

export const aloneAs = (self: string): Nodes => ({
  self,
  deadline: new LeaseDeadline(),
  parts: new LimitParts(),
  live: () => [self],
  freeBuried() {},
  async watch() {},
  duty: (_name, begin) => begin(),
  async leave() {},
})

export const insertNode = (node: { name: string; now: number; version: string }): Statement => ({
  sql: 'insert into node (name, started_at, version) values (:name, :now, :version)',
  params: node,
})
