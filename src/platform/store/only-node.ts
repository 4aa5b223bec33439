import type { Clock } from '../clock.ts'
import { newId } from '../id.ts'
import type { Database } from './database.ts'
import { LeaseDeadline } from './lease-deadline.ts'
import { LimitParts } from './limit-parts.ts'
import { insertNode } from './node-rows.ts'
import type { Joining, Nodes } from './nodes.ts'

/**
 * Where one process at a time holds the database. Other names were those of its earlier lives: what they had in hand is free from now on, and
 * so is what this one has when it ends.
 */
export async function onlyNode(
  { db, clock }: { db: Pick<Database, 'write'>; clock: Clock },
  joining: Pick<Joining, 'version' | 'machine' | 'settings' | 'serves' | 'newestKey'>,
): Promise<Nodes> {
  const now = clock.now()
  const name = newId('node', now)
  await db.write([{ sql: 'delete from node' }, insertNode({ name, now, ...joining })], { as: name })
  const leave = async (): Promise<void> => void (await db.write([{ sql: 'delete from node' }], { as: null }))
  return { ...aloneAs(name), leave }
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
