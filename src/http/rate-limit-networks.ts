import { BoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import { clientNetwork } from '../ip-address.ts'
import { RateLimitWindow } from './rate-limit-window.ts'

/** Above this the network that has been silent for the longest time is forgotten. */
const maxNetworks = 10_000

/** So many a minute from one client network. */
export class RateLimitNetworks {
  readonly #clock: Clock
  readonly #limit: number
  readonly #byNetwork = new BoundedMap<string, RateLimitWindow>(maxNetworks)

  /** `limit`: 0 sets none. */
  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  /** Counts one more from this address; null, or where there were too many in the last minute, after how many seconds it may come again. */
  take(address: string): number | null {
    if (this.#limit === 0) return null
    const now = this.#clock.steady()
    const network = clientNetwork(address)
    const window = this.#byNetwork.get(network) ?? new RateLimitWindow()
    this.#byNetwork.put(network, window)
    return window.take(now, this.#limit) ? null : window.untilNext(now, this.#limit) / 1000
  }
}
