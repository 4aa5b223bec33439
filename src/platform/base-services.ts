import type { Clock } from './clock.ts'
import type { Health } from './health.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { Database } from './store/database.ts'

/** What nearly every service works with. A service names what it takes of them, and adds what is its own. */
export interface BaseServices {
  db: Database
  clock: Clock
  log: Log
  metrics: Metrics
  health: Health
}
