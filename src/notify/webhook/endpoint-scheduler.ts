/** Attempts in hand per endpoint, of all nodes together: initially and after a failure, and at most while it succeeds. */
const firstLimit = 5
const maxLimit = 50
/** How many deliveries may always wait in memory for an earlier one of their email, for each attempt that may be in hand. */
const waitingPerAttempt = 20
/**
 * How many more may wait, over all endpoints. An endpoint may have as many as are still free, so it finds the events of other emails behind
 * thousands of one email, and leaves half to others.
 */
const sharedWaiting = 20_000
/** Attempts in hand over all endpoints. */
const maxTotalLimit = 2_000

/** An endpoint with something to do or in hand. */
export interface Endpoint {
  readonly id: string
  /** Attempts that it may have in hand at all nodes, as far as this one knows. */
  limit: number
  inFlight: number
  /** Claimed deliveries that take no place yet, because an earlier one of the same email is in hand. */
  waiting: number
  /** A claim is under way. A second one would claim the same places. */
  claiming: boolean
  /** It has something due, as far as we know. */
  wanting: boolean
}

interface SchedulerLimits {
  maxConnections?: number | undefined
  partOf?(limit: number): number
}

/**
 * Divides connections among endpoints, so that hanging ones take none from the others. Each has its own places, and gets more while it
 * succeeds. Once half of all places are taken, an endpoint gets only one. When all are taken, endpoints queue for one turn each.
 */
export class EndpointScheduler {
  readonly #run: (endpoint: Endpoint) => void
  readonly #totalLimit: number
  readonly #partOf: (limit: number) => number
  readonly #endpoints = new Map<string, Endpoint>()
  /** Endpoints that wait for a place, in order of arrival. */
  readonly #line = new Set<Endpoint>()
  #inFlight = 0
  #waiting = 0

  /**
   * `run` must `reserve` at once, claim, call `claimed`, and call `ended` or `passedOn` at the end of every attempt. `maxConnections` is
   * never exceeded; `partOf` says what this node may have of the limit of one endpoint.
   */
  constructor(run: (endpoint: Endpoint) => void, { maxConnections = Infinity, partOf = (limit) => limit }: SchedulerLimits = {}) {
    this.#run = run
    this.#partOf = partOf
    this.#totalLimit = Math.min(maxConnections, maxTotalLimit)
  }

  /** Marks an endpoint as having something due. */
  request(id: string): void {
    let endpoint = this.#endpoints.get(id)
    if (!endpoint) {
      endpoint = { id, limit: firstLimit, inFlight: 0, waiting: 0, claiming: false, wanting: false }
      this.#endpoints.set(id, endpoint)
    }
    endpoint.wanting = true
    this.#consider(endpoint)
  }

  /** Takes all places that the endpoint may have, and returns their number. */
  reserve(endpoint: Endpoint): number {
    const places = this.#places(endpoint)
    endpoint.claiming = true
    endpoint.wanting = false
    endpoint.inFlight += places
    this.#inFlight += places
    return places
  }

  /** Returns the places for which the claim found no delivery, and those of deliveries that have to wait. */
  claimed(endpoint: Endpoint, { unused, waiting }: { unused: number; waiting: number }): void {
    endpoint.claiming = false
    endpoint.waiting += waiting
    this.#waiting += waiting
    this.#release(endpoint, unused + waiting)
  }

  ended(endpoint: Endpoint, succeeded: boolean): void {
    this.#adapt(endpoint, succeeded)
    this.#release(endpoint, 1)
  }

  /** Like `ended`, but a delivery that has waited takes the place. */
  passedOn(endpoint: Endpoint, succeeded: boolean): void {
    this.#adapt(endpoint, succeeded)
    endpoint.waiting -= 1
    this.#waiting -= 1
    this.#consider(endpoint)
  }

  #adapt(endpoint: Endpoint, succeeded: boolean): void {
    endpoint.limit = succeeded ? Math.min(endpoint.limit + 1, maxLimit) : firstLimit
  }

  #release(endpoint: Endpoint, places: number): void {
    endpoint.inFlight -= places
    this.#inFlight -= places
    while (this.#line.size > 0 && this.#inFlight < this.#totalLimit) {
      const [next] = this.#line
      if (!next) break
      this.#line.delete(next)
      this.#consider(next)
    }
    this.#consider(endpoint)
    if (endpoint.inFlight === 0 && !endpoint.claiming && !endpoint.wanting) this.#endpoints.delete(endpoint.id)
  }

  #consider(endpoint: Endpoint): void {
    if (!endpoint.wanting || endpoint.claiming) return
    if (this.#places(endpoint) > 0) this.#run(endpoint)
    else if (this.#inFlight >= this.#totalLimit) this.#line.add(endpoint)
  }

  #places(endpoint: Endpoint): number {
    const own = this.#inFlight >= this.#totalLimit / 2 ? 1 : this.#partOf(endpoint.limit)
    const free = Math.min(own - endpoint.inFlight, this.#totalLimit - this.#inFlight)
    const maxWaiting = Math.max(waitingPerAttempt * own, sharedWaiting - this.#waiting)
    return Math.max(0, Math.min(free, maxWaiting - endpoint.waiting))
  }
}
