import type { DeliveryJob } from './attempt.ts'

/** Whose mail a connection is for. */
export type Waiter = Pick<DeliveryJob, 'account' | 'isUrgent'>

/** One that waits for a connection to a host, by its account's turn there. */
export interface InTurn extends Waiter {
  turn: number
}

/** Who was served last at a host: the last turns of urgent and of usual mail, and whether it was urgent. */
export interface Served {
  urgent: number
  usual: number
  wasUrgent: boolean
}

export const nobody: Waiter = { account: 0, isUrgent: false }

/**
 * The next turn of the account at a host: accounts with much mail there have one after the other, so those with little come in between.
 * Urgent mail and usual mail have turns of their own.
 */
export function nextTurn(waiting: readonly InTurn[], { account, isUrgent }: Waiter, { urgent, usual }: Served): number {
  const own = waiting.findLast((each) => each.account === account && each.isUrgent === isUrgent)
  return Math.max(isUrgent ? urgent : usual, own?.turn ?? 0) + 1
}

/** Where a turn belongs among these: urgent ones first, and behind those that were there first. */
export const placeOf = (waiting: readonly InTurn[], { isUrgent, turn }: Pick<InTurn, 'isUrgent' | 'turn'>): number =>
  waiting.findLastIndex((each) => (each.isUrgent === isUrgent ? each.turn <= turn : each.isUrgent)) + 1

/** The place of the one to serve next: urgent mail goes first, but usual mail has every other turn. */
export const nextPlace = (waiting: readonly InTurn[], { wasUrgent }: Served): number =>
  wasUrgent
    ? Math.max(
        0,
        waiting.findIndex(({ isUrgent }) => !isUrgent),
      )
    : 0

export function noteServed(served: Served, { isUrgent, turn }: InTurn): void {
  const kind = isUrgent ? 'urgent' : 'usual'
  served[kind] = Math.max(served[kind], turn)
  served.wasUrgent = isUrgent
}
