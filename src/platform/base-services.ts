import type { Health } from './health.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { Store } from './store/store.ts'

/** What nearly every service works with. A service names what it takes of them, and adds what is its own. */
export interface BaseServices extends Store {
  log: Log
  metrics: Metrics
  health: Health
}
