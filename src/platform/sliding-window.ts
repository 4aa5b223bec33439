const smallestRing = 16

/**
 * The times of what was allowed within the last `windowMs`, in a ring buffer that grows as needed. A window never holds more than the
 * limit, and nothing is refused while it holds fewer. Times are ms on a steady clock and take 8 bytes each.
 */
export class SlidingWindow {
  readonly #windowMs: number
  #times = new Float64Array(smallestRing)
  #oldest = 0
  #count = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Counts so many more. Returns false, and counts nothing, if they would exceed the limit. */
  take(now: number, limit: number, count = 1): boolean {
    this.#expire(now)
    if (this.#count + count > limit) return false
    for (let i = 0; i < count; i++) {
      if (this.#count === this.#times.length) this.#grow()
      this.#times[(this.#oldest + this.#count++) % this.#times.length] = now
    }
    return true
  }

  /** The number in the window. */
  countAt(now: number): number {
    this.#expire(now)
    return this.#count
  }

  /** The ms until one more is possible; 0 if it is possible now. */
  untilNext(now: number, limit: number): number {
    this.#expire(now)
    if (this.#count === 0) return 0
    // If the limit was lowered, more than one has to expire first.
    return this.#at(Math.max(0, this.#count - limit)) + this.#windowMs - now
  }

  /** The times, oldest first. */
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

  #expire(now: number): void {
    while (this.#count > 0 && this.#at(0) + this.#windowMs <= now) {
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
