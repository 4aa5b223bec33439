import { BoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import { clientNetwork } from '../ip-address.ts'
import { RateLimitWindow } from './rate-limit-window.ts'

/** Above this the network that has not failed for the longest time is forgotten. */
const maxNetworks = 10_000

/**
 * Counts failed authentication by client network, so that guessing gets slow and the log stays readable. It bars nobody
 * who has the right key: many programs may share an address, and one of them with a wrong key must not shut the others out.
 */
export class RateLimitFailures {
  readonly #clock: Clock
  readonly #limit: number
  readonly #byNetwork = new BoundedMap<string, RateLimitWindow>(maxNetworks)

  /** `limit`: failures a minute from one network; 0 sets none. */
  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  /**
   * Notes that a request from this address had no key, or a wrong one.
   * @throws SternaError `rate_limit_exceeded` where there were too many in the last minute
   */
  note(address: string): void {
    if (this.#limit === 0) return
    const now = this.#clock.steady()
    const network = clientNetwork(address)
    const window = this.#byNetwork.get(network) ?? new RateLimitWindow()
    this.#byNetwork.put(network, window)
    if (window.take(now, this.#limit)) return
    throw new SternaError('rate_limit_exceeded', 'Too many requests from your address had no valid API key. A valid one is taken at once.', {
      retryAfter: window.untilNext(now, this.#limit) / 1000,
    })
  }
}
