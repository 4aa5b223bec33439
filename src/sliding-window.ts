/** Every limit is for requests in so long, ms. */
export const windowMs = 60_000

const smallestRing = 16

/**
 * The times of the requests that were taken in the last minute, in a ring that grows as it fills. Never more than the
 * limit are taken in any minute, and none is refused while fewer were taken in the last one. The times must come from a
 * steady clock; 8 bytes each are all that is kept of a request.
 */
export class RateLimitWindow {
  #times = new Float64Array(smallestRing)
  #oldest = 0
  #count = 0

  /** Takes one more request, unless the limit is reached: then false, and nothing is noted. */
  take(now: number, limit: number): boolean {
    this.#forgetBefore(now)
    if (this.#count >= limit) return false
    if (this.#count === this.#times.length) this.#grow()
    this.#times[(this.#oldest + this.#count++) % this.#times.length] = now
    return true
  }

  /** How many were taken in the last minute. */
  countAt(now: number): number {
    this.#forgetBefore(now)
    return this.#count
  }

  /** In how many ms one more may be taken than now; 0 where nothing was taken. */
  untilNext(now: number, limit: number): number {
    this.#forgetBefore(now)
    if (this.#count === 0) return 0
    // Where the limit was lowered, more than one have to become old first.
    return this.#at(Math.max(0, this.#count - limit)) + windowMs - now
  }

  /** The times, the oldest first. */
  times(): Float64Array {
    const times = new Float64Array(this.#count)
    const untilEnd = this.#times.subarray(this.#oldest, this.#oldest + this.#count)
    times.set(untilEnd)
    times.set(this.#times.subarray(0, this.#count - untilEnd.length), untilEnd.length)
    return times
  }

  #at(place: number): number {
    return this.#times[(this.#oldest + place) % this.#times.length] as number
  }

  #forgetBefore(now: number): void {
    while (this.#count > 0 && this.#at(0) + windowMs <= now) {
      this.#oldest = (this.#oldest + 1) % this.#times.length
      this.#count--
    }
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2)
    times.set(this.times())
    this.#times = times
    this.#oldest = 0
  }
}
