import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import { RateLimitNetworks } from './rate-limit-networks.ts'

/**
 * Counts failed authentication by client network, so that guessing gets slow and the log stays readable. It bars nobody
 * who has the right key: many programs may share an address, and one of them with a wrong key must not shut the others out.
 */
export class RateLimitFailures {
  readonly #networks: RateLimitNetworks

  /** `limit`: failures a minute from one network; 0 sets none. */
  constructor(clock: Clock, limit: number) {
    this.#networks = new RateLimitNetworks(clock, limit)
  }

  /**
   * Notes that a request from this address had no key, or a wrong one.
   * @throws SternaError `rate_limit_exceeded` where there were too many in the last minute
   */
  note(address: string): void {
    const retryAfter = this.#networks.take(address)
    if (retryAfter === null) return
    throw new SternaError(
      'rate_limit_exceeded',
      'Too many requests from your address had no valid API key. A valid one is taken at once.',
      {
        retryAfter,
      },
    )
  }
}
