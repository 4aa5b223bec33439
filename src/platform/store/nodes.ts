import type { Log } from '../log.ts'
import type { Statement } from './database.ts'
import type { LeaseDeadline } from './lease-deadline.ts'
import type { LimitParts } from './limit-parts.ts'

/** The processes that work on one database. One alone is the simple case, so nobody asks how many there are. */
export interface Nodes {
  /** The name of this start, which no other has or will have: the owner of its claims. */
  readonly self: string
  /** When what this node has in hand may be another's. Delivery looks at it before it acts. */
  readonly deadline: LeaseDeadline
  /** What this node may do of that which all may do only so much of at a time. */
  readonly parts: LimitParts
  /** The names of those that serve and are not known to have ended, this one among them. */
  live(): readonly string[]
  /** Registers what a node may leave in hand. */
  freeBuried(left: LeftInHand): void
  /**
   * Call it when all that may be left in hand is registered: from now on, what dead nodes have left is freed. Takes the duties that no node has,
   * and waits until they have begun.
   */
  watch(): Promise<void>
  /**
   * Work that one node at a time does, here or at another. Begins it at once where there is one node; where there are several, when nobody else
   * does it, after `watch`. Returns what ends it, and leaves it to another.
   */
  duty(name: string, begin: BeginDuty): Promise<EndDuty>
  /** Frees what this node has in hand, and ends its part. */
  leave(): Promise<void>
}

/** Begins the work of a duty, and returns what ends that. Called again if it fails. */
export type BeginDuty = () => Promise<EndDuty>
export type EndDuty = () => Promise<unknown> | void

/** What nodes have in hand of one kind. */
export interface LeftInHand {
  /** Takes a node's name away from everything. Written in the batch that removes the node, when it has died or stops. */
  free(node: string): Statement[]
  /** Called when a node has gone: what it had in hand, and what it was waiting for, may be due. */
  onFreed?(): void
}

/** The settings that all nodes of a database must have alike: with others, each would undo what another does. */
export interface SharedSettings {
  mode: string
  hostname: string
  baseUrl: string
  returnPathDomain: string
}

export interface Joining {
  /** Of the program that the node runs. */
  version: string
  /** The name of its machine. */
  machine: string
  settings: SharedSettings
  /** False for a command, which does not share what the others divide. */
  serves: boolean
  /** Names the newest key that the node can open secrets with. */
  newestKey: string
  log: Log
  /** Called once if other nodes have taken this one for dead and do its work: the process must end. */
  onBuried(error: BuriedError): void
}

/** Other nodes do the work of this one. */
export class BuriedError extends Error {
  constructor(name: string, silentMs: number) {
    super(
      `Other nodes have taken over the work of this one (${name}), because it wrote nothing to the database for ${silentMs / 1000} s. ` +
        'It ends, so that nothing is done twice; start it again. If it was not paused, look at the database and the network between them.',
    )
    this.name = 'BuriedError'
  }
}
