/** What is seen of the queue at a moment. */
export interface QueueLook {
  /** ms, of a steady clock */
  at: number
  /** True where mail is due that could be claimed: neither held nor in hand. */
  isOverdue: boolean
  /** True where mail is in hand, or was put back untried since the last look. */
  isBusy: boolean
  /** How many recipients were claimed, and how many got an outcome, since the start. */
  claimed: number
  ended: number
}

/** Since when nothing of what is due has moved, and how far the queue was then. */
export type Standstill = Pick<QueueLook, 'at' | 'claimed' | 'ended'>

/**
 * Whether the queue has moved since it was seen to move last: mail that is due was claimed, and what is in hand came to an
 * end. Where nothing is to be done it cannot stand still.
 */
export function standstillAt({ at, isOverdue, isBusy, claimed, ended }: QueueLook, before: Standstill): Standstill {
  const hasMoved = ended > before.ended && (claimed > before.claimed || !isOverdue)
  return hasMoved || (!isOverdue && !isBusy) ? { at, claimed, ended } : before
}
