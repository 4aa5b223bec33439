const smallestRing = 16

/**
 * The times of what was let through within the last `windowMs`, in a ring that grows as it fills. No window ever holds more
 * than the limit, and nothing is refused while the last one holds fewer. Times are ms on a steady clock; each takes 8 bytes.
 */
export class SlidingWindow {
  readonly #windowMs: number
  #times = new Float64Array(smallestRing)
  #oldest = 0
  #count = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Counts one more, unless the limit is reached: then false, and nothing is counted. */
  take(now: number, limit: number): boolean {
    this.#expire(now)
    if (this.#count >= limit) return false
    if (this.#count === this.#times.length) this.#grow()
    this.#times[(this.#oldest + this.#count++) % this.#times.length] = now
    return true
  }

  /** Takes the newest out again. */
  giveBack(): void {
    if (this.#count > 0) this.#count--
  }

  /** How many the last window holds. */
  countAt(now: number): number {
    this.#expire(now)
    return this.#count
  }

  /** In how many ms one more than now will be possible; 0 while there are none. */
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
