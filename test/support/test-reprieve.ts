import { ClockWatch } from '../../src/platform/clock-watch.ts'
import type { Clock } from '../../src/platform/clock.ts'
import { Health } from '../../src/platform/health.ts'
import { silentLog } from '../../src/platform/log.ts'
import { Reprieve } from '../../src/mail-out/queue/reprieve.ts'
import type { Database } from '../../src/platform/store/database.ts'

/** The reprieve of a server whose time has no gap unless `clock` jumps. */
export const testReprieve = (db: Database, clock: Clock): Reprieve =>
  new Reprieve({ db, clock, log: silentLog, health: new Health({ clock, log: silentLog }), watch: new ClockWatch(clock) }, 48 * 3_600_000)
