import { compareClock } from '../../platform/clock-watch.ts'
import type { Clock } from '../../platform/clock.ts'
import { timeOfId } from '../../platform/id.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/store/database.ts'

/**
 * The time of the newest event, epoch ms, which is the newest time in the database because everything that happens to
 * mail is an event. Null if there is none.
 */
export async function newestTime(db: Pick<Database, 'read'>): Promise<number | null> {
  const [row] = await db.read<{ id: string | null }>('select max(id) as id from event')
  return row?.id == null ? null : timeOfId(row.id)
}

const warnings = {
  behind: 'the clock is behind the newest time in the database: it was set back, or was ahead when that was written; correct it',
  beyond: 'nothing was written for more than a day: the server was off, no mail came, or the clock is wrong',
}

/** Compares the clock with the newest event at startup, and logs a warning if the difference is strange. True if the clock is behind. */
export async function isClockBehind({ db, clock, log }: { db: Pick<Database, 'read'>; clock: Clock; log: Log }): Promise<boolean> {
  const newest = await newestTime(db)
  if (newest === null) return false
  const found = compareClock(newest, clock.now())
  if (found !== 'near') log.warn({ clock: isoTime(clock.now()), newest: isoTime(newest) }, warnings[found])
  return found === 'behind'
}
