import { destinationKey } from './destination-key.ts'
import type { Database } from '../../platform/store/database.ts'
import { waitingLanes, waitingLanesOf, type WaitingLane } from './queue-store.ts'

/** The lanes with waiting mail: all, or those of one destination. */
export const readWaitingLanes = (db: Pick<Database, 'read'>, destination: string | undefined): Promise<WaitingLane[]> =>
  destination === undefined ? db.read<WaitingLane>(waitingLanes) : db.read<WaitingLane>(waitingLanesOf, { destination })

/** Of each lane the recipient that is due first. */
export function firstOfLanes<R extends WaitingLane>(recipients: Iterable<R>): Iterable<R> {
  const first = new Map<string, R>()
  for (const recipient of recipients) {
    const key = `${destinationKey(recipient)} ${recipient.account_id}`
    if (recipient.due_at < (first.get(key)?.due_at ?? Infinity)) first.set(key, recipient)
  }
  return first.values()
}
