import type { Clock } from '../../platform/clock.ts'
import type { Claims } from '../../platform/store/claims.ts'
import type { Database } from '../../platform/store/database.ts'
import { anyExpired, claimExpired, type ExpiredRow } from './queue-store.ts'

interface ExpiryServices {
  db: Pick<Database, 'read'>
  clock: Pick<Clock, 'now'>
  claims: Pick<Claims, 'claim'>
  isRunning(): boolean
  /** Called if some must be looked for again later. */
  again(): void
}

/** Recipients claimed together. */
const stepSize = 64

/** Claims the expired mail of a destination, step by step, and calls `giveUp` with it. */
export async function claimAllExpired(services: ExpiryServices, destination: string, giveUp: (rows: ExpiredRow[]) => void): Promise<void> {
  const { db, clock, claims, isRunning, again } = services
  const [expired] = await db.read(anyExpired, { destination, now: clock.now() })
  // It is claimed in another order than what is due.
  const turn = { name: destination, places: stepSize, order: `${destination} by expiry`, noteDue: again }
  for (let claimed = stepSize; expired && claimed === stepSize && isRunning();) {
    const rows = await claims.claim<ExpiredRow>(turn, (range) => claimExpired(destination, range))
    giveUp(rows)
    claimed = rows.length
  }
}
