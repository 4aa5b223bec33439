/** Attempts an endpoint may have in hand: at first and after a failure, and at most while it answers well. */
const firstLimit = 5
const largestLimit = 50
/** Attempts in hand at all endpoints together, at most. */
const largestTotalLimit = 2_000

/** An endpoint with something to do or in hand. */
export interface Endpoint {
  readonly id: string
  /** How many attempts it may have in hand. */
  limit: number
  inHand: number
  /** A claim is under way; another would take the same places. */
  claiming: boolean
  /** It has something due, as far as is known. */
  wanting: boolean
}

/**
 * Shares connections out among endpoints, so that those that hang take nothing from those that answer. Each has places
 * of its own, more while it answers well. Once half of all places are taken an endpoint gets one only, and when all are
 * endpoints wait in line, each for one turn.
 */
export class EndpointTurns {
  readonly #run: (endpoint: Endpoint) => void
  readonly #totalLimit: number
  readonly #endpoints = new Map<string, Endpoint>()
  /** Those that could go on if others had left room, in the order they came. */
  readonly #line = new Set<Endpoint>()
  #inHand = 0

  /**
   * `run` is to `reserve` at once, claim, tell with `claimed`, and tell the end of every attempt with `ended`.
   * `mostConnections` are never exceeded.
   */
  constructor(run: (endpoint: Endpoint) => void, mostConnections = Infinity) {
    this.#run = run
    this.#totalLimit = Math.min(mostConnections, largestTotalLimit)
  }

  /** Says that an endpoint has something due. */
  request(id: string): void {
    let endpoint = this.#endpoints.get(id)
    if (!endpoint) {
      endpoint = { id, limit: firstLimit, inHand: 0, claiming: false, wanting: false }
      this.#endpoints.set(id, endpoint)
    }
    endpoint.wanting = true
    this.#consider(endpoint)
  }

  /** Takes all places that the endpoint may have, and gives their number. */
  reserve(endpoint: Endpoint): number {
    const places = this.#places(endpoint)
    endpoint.claiming = true
    endpoint.wanting = false
    endpoint.inHand += places
    this.#inHand += places
    return places
  }

  /** Gives back the places that the claim found no delivery for. */
  claimed(endpoint: Endpoint, unused: number): void {
    endpoint.claiming = false
    this.#release(endpoint, unused)
  }

  ended(endpoint: Endpoint, succeeded: boolean): void {
    endpoint.limit = succeeded ? Math.min(endpoint.limit + 1, largestLimit) : firstLimit
    this.#release(endpoint, 1)
  }

  #release(endpoint: Endpoint, places: number): void {
    endpoint.inHand -= places
    this.#inHand -= places
    while (this.#line.size > 0 && this.#inHand < this.#totalLimit) {
      const [next] = this.#line
      if (!next) break
      this.#line.delete(next)
      this.#consider(next)
    }
    this.#consider(endpoint)
    if (endpoint.inHand === 0 && !endpoint.claiming && !endpoint.wanting) this.#endpoints.delete(endpoint.id)
  }

  #consider(endpoint: Endpoint): void {
    if (!endpoint.wanting || endpoint.claiming) return
    if (this.#places(endpoint) > 0) this.#run(endpoint)
    else if (this.#inHand >= this.#totalLimit) this.#line.add(endpoint)
  }

  #places(endpoint: Endpoint): number {
    const own = this.#inHand >= this.#totalLimit / 2 ? 1 : endpoint.limit
    return Math.max(0, Math.min(own - endpoint.inHand, this.#totalLimit - this.#inHand))
  }
}
