import { BoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import { clientNetwork } from '../ip-address.ts'

interface Failures {
  count: number
  /** When they are forgotten, by the clock that goes evenly, ms. */
  until: number
}

const windowMs = 10 * 60_000
const allowedFailures = 10
/** Failures that are answered at once: a person, or a program that has an old key. */
const promptFailures = 3
/** How long the answer to the first one beyond these waits, ms; it doubles up to the longest. */
const [shortestDelayMs, longestDelayMs] = [500, 4_000]
/** Above this the network that failed longest ago is forgotten. */
const maxNetworks = 10_000

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
  readonly #clock: Clock
  readonly #byNetwork = new BoundedMap<string, Failures>(maxNetworks)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Notes a failed login. */
  add(address: string): Verdict {
    const now = this.#clock.steady()
    const network = clientNetwork(address)
    const known = this.#byNetwork.get(network)
    if (known && known.until > now) return verdictOn(++known.count)
    this.#byNetwork.put(network, { count: 1, until: now + windowMs })
    return verdictOn(1)
  }
}

const verdictOn = (failures: number): Verdict => ({
  isTooMany: failures > allowedFailures,
  delayMs: failures <= promptFailures ? 0 : Math.min(longestDelayMs, shortestDelayMs * 2 ** (failures - promptFailures - 1)),
})
