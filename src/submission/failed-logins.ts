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
/** Above this the network that failed longest ago is forgotten. */
const maxNetworks = 10_000

/**
 * Counts failed logins per client network, so that guessing gets slow and the log stays readable. It bars nobody who
 * has the right key: many programs may share an address, and one of them with a wrong key must not shut the others out.
 */
export class FailedLogins {
  readonly #clock: Clock
  readonly #byNetwork = new BoundedMap<string, Failures>(maxNetworks)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Notes a failed login. True where the network has had too many in ten minutes and should be cut off. */
  add(address: string): boolean {
    const now = this.#clock.steady()
    const network = clientNetwork(address)
    const known = this.#byNetwork.get(network)
    if (known && known.until > now) return ++known.count > allowedFailures
    this.#byNetwork.put(network, { count: 1, until: now + windowMs })
    return false
  }
}
