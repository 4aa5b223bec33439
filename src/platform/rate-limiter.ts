import { lastUsed } from './last-used.ts'
import type { Clock } from './clock.ts'
import { SlidingWindow } from './sliding-window.ts'

/** Keys remembered. Beyond that, the least recently used one starts over. */
const maxKeys = 10_000

export const minuteMs = 60_000

interface Rate {
  /** 0: no limit. */
  limit: number
  windowMs: number
}

/** Applies the same limit to each of many keys (a client network) in a sliding window, in this process alone. */
export class RateLimiter {
  readonly #clock: Clock
  readonly #rate: Rate
  readonly #windows = lastUsed<SlidingWindow>(maxKeys)

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock
    this.#rate = rate
  }

  /** Counts one more for the key and returns 0. If it has reached its limit, counts none and returns the ms to wait. */
  take(key: string): number {
    const { limit } = this.#rate
    if (limit === 0) return 0
    // The clock may be set back, and nobody must wait for it to catch up.
    const now = this.#clock.steady()
    const window = this.#windowOf(key)
    return window.take(now, limit) ? 0 : window.untilNext(now, limit)
  }

  #windowOf(key: string): SlidingWindow {
    const known = this.#windows.get(key)
    if (known) return known
    const window = new SlidingWindow(this.#rate.windowMs)
    this.#windows.set(key, window)
    return window
  }
}
