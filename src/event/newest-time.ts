import { compareClock } from '../clock-watch.ts'
import type { Clock } from '../clock.ts'
import { timeOfId } from '../id.ts'
import { isoTime } from '../iso-time.ts'
import type { Log } from '../log.ts'
import type { Database } from '../store/database.ts'

/** The newest time that is written down, epoch ms: that of an event, since whatever happens to mail is one. Null: none was written yet. */
export async function newestTime(db: Pick<Database, 'read'>): Promise<number | null> {
  const [row] = await db.read<{ id: string | null }>('select max(id) as id from event')
  return row?.id == null ? null : timeOfId(row.id)
}

const warnings = {
  behind: 'the clock stands before the newest time in the database: it was set back, or was ahead when that was written; set it right',
  beyond: 'nothing was written for more than a day: the server was off, no mail came, or the clock is wrong',
}

/** Looks at a start how the clock stands to what was written last, and warns where that is strange. True where the clock is behind. */
export async function isClockBehind({ db, clock, log }: { db: Pick<Database, 'read'>; clock: Clock; log: Log }): Promise<boolean> {
  const newest = await newestTime(db)
  if (newest === null) return false
  const found = compareClock(newest, clock.now())
  if (found !== 'near') log.warn({ clock: isoTime(clock.now()), newest: isoTime(newest) }, warnings[found])
  return found === 'behind'
}
