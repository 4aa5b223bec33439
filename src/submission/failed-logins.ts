import type { Clock } from '../clock.ts'
import { clientNetwork } from '../ip-address.ts'
import { minuteMs, RateLimiter } from '../rate-limiter.ts'

const allowed = { limit: 10, windowMs: 10 * minuteMs }
/** Failures that are answered at once: a person, or a program that has an old key. */
const promptFailures = 3
/** How long the answer to the first one beyond these waits, ms; it doubles up to the longest. */
const [shortestDelayMs, longestDelayMs] = [500, 4_000]

/** What follows for a network. */
interface Verdict {
  /** It has had too many in ten minutes and should be cut off. */
  isTooMany: boolean
  /** How long its answer should wait, ms. */
  delayMs: number
}

/**
 * Counts failed logins per client network, so that guessing gets slow. It bars nobody who
 * has the right key: many programs may share an address, and one of them with a wrong key must not shut the others out.
 */
export class FailedLogins {
  readonly #limiter: RateLimiter

  constructor(clock: Clock) {
    this.#limiter = new RateLimiter(clock, allowed)
  }

  /** Counts a failed login. */
  add(address: string): Verdict {
    const network = clientNetwork(address)
    const isTooMany = this.#limiter.take(network) > 0
    return { isTooMany, delayMs: delayAfter(this.#limiter.countOf(network)) }
  }
}

const delayAfter = (failures: number): number =>
  failures <= promptFailures ? 0 : Math.min(longestDelayMs, shortestDelayMs * 2 ** (failures - promptFailures - 1))
