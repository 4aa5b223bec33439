import { ClockWatch } from '../../src/clock-watch.ts'
import type { Clock } from '../../src/clock.ts'
import { Health } from '../../src/health.ts'
import { silentLog } from '../../src/log.ts'
import { Reprieve } from '../../src/queue/reprieve.ts'
import type { Database } from '../../src/store/database.ts'

/** The reprieve of a server whose time has no gap unless `clock` jumps. */
export const testReprieve = (db: Database, clock: Clock): Reprieve =>
  new Reprieve({ db, clock, log: silentLog, health: new Health({ clock, log: silentLog }), watch: new ClockWatch(clock) }, 48 * 3_600_000)
