import type { Statement } from './database.ts'

/** Something that holds rows in memory, and is told when another node has changed one. */
export interface ChangeFollower {
  /** Reads the one with this id anew. */
  reload(id: string): Promise<unknown>
  /** Reads all of it anew. */
  load(): Promise<void>
}

/** What a process that does not deliver itself tells those that do: mail for a destination, or posts to a webhook, may be due. */
export type Due = 'due_destination' | 'retried_destination' | 'due_webhook' | 'enabled_webhook'

/**
 * How nodes hear of each other's changes of what all of them hold in memory. Each kind has the name of its table. A node knows of a change
 * about a second later. What is due is told in the same way (`Due`). Where that is too late, whoever finds nothing waits for `caughtUp` and
 * looks again, and whoever takes a right away answers only after `seenByAll`.
 */
export interface Changes {
  /** Tells the other nodes of a change, in the batch that makes it. */
  note(kind: string, id: string): Statement[]
  /** Has changes of this kind told from now on, also those that were made here. */
  on(kind: string, follower: ChangeFollower): void
  /** Resolves once this node knows every change that was on disk when it was called: true if it did not know them all by then. */
  caughtUp(): Promise<boolean>
  /** Resolves once every node knows every change that was on disk when it was called. A node that has died counts until it is known to be dead. */
  seenByAll(): Promise<void>
}

/**
 * What `look` finds in what is held in memory. If it finds nothing, that is, throws, it looks once more when this node knows all changes.
 * @throws what `look` throws then
 */
export async function lookedUp<T>({ changes }: { changes: Pick<Changes, 'caughtUp'> }, look: () => T): Promise<T> {
  try {
    return look()
  } catch (error) {
    if (await changes.caughtUp()) return look()
    throw error
  }
}

const atOnce = Promise.resolve()
const knewAll = Promise.resolve(false)

/** For one node alone: there is nobody to tell, and it knows all that it has changed. */
export const aloneWithChanges: Changes = {
  note: () => [],
  on() {},
  caughtUp: () => knewAll,
  seenByAll: () => atOnce,
}
