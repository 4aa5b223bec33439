import type { DeliveryJob } from './attempt.ts'

/** Whose mail a connection is for. */
export type Waiter = Pick<DeliveryJob, 'account' | 'isUrgent'>

/** One that waits for a connection to a host, by its account's turn there. */
export interface InTurn {
  account: number
  turn: number
}

export const nobody: Waiter = { account: 0, isUrgent: false }

/** Before all others. */
const urgentTurn = -1

/**
 * The next turn of the account at a host: accounts with much mail there have one after the other, so those with little come in between.
 * @param last the turn that was served last
 */
export function nextTurn(waiting: readonly InTurn[], { account, isUrgent }: Waiter, last: number): number {
  if (isUrgent) return urgentTurn
  const own = waiting.findLast((each) => each.account === account)
  return Math.max(last, own?.turn ?? 0) + 1
}

/** Where a turn belongs among these: behind those that were there first. */
export const placeOf = (waiting: readonly InTurn[], turn: number): number => waiting.findLastIndex((each) => each.turn <= turn) + 1
