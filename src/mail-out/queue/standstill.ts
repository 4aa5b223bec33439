/** What is seen of the queue at one moment. */
export interface QueueLook {
  /** ms, of a steady clock */
  at: number
  /** True if claimable mail is due: neither held nor claimed. */
  isOverdue: boolean
  /** True if mail is claimed, or was put back untried since the last check. */
  isBusy: boolean
  /** How many recipients were claimed, and how many got an outcome, since the start. */
  claimed: number
  ended: number
}

/** Since when no due mail has made progress, and how far the queue was then. */
export type Standstill = Pick<QueueLook, 'at' | 'claimed' | 'ended'>

/**
 * Whether the queue has made progress since the last time: due mail was claimed, and claimed mail was settled. If there is nothing to
 * do, it cannot stand still.
 */
export function standstillAt({ at, isOverdue, isBusy, claimed, ended }: QueueLook, before: Standstill): Standstill {
  const hasMoved = ended > before.ended && (claimed > before.claimed || !isOverdue)
  return hasMoved || (!isOverdue && !isBusy) ? { at, claimed, ended } : before
}
