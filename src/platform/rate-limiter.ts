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

/** Applies the same limit to each of many keys (a client network, an account) in a sliding window. */
export class RateLimiter {
  readonly #clock: Clock
  readonly #rate: Rate
  readonly #windows = lastUsed<SlidingWindow>(maxKeys)

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock
    this.#rate = rate
  }

  /** Counts one more for each key and returns 0. If one has reached its limit, counts none and returns the ms to wait. */
  take(...keys: string[]): number {
    const { limit } = this.#rate
    if (limit === 0) return 0
    // The clock may be set back, and nobody must wait for it to catch up.
    const now = this.#clock.steady()
    // A refusal creates no window, or a blocked client could evict others' windows with invented keys.
    const waitMs = Math.max(...keys.map((key) => waitOf(this.#windows.get(key), now, limit)))
    if (waitMs === 0) for (const key of keys) this.#windowOf(key).take(now, limit)
    return waitMs
  }

  /** Takes back the last count for each key. */
  giveBack(...keys: string[]): void {
    for (const key of keys) this.#windows.get(key)?.giveBack()
  }

  /** The current count for this key. */
  countOf(key: string): number {
    return this.#windows.get(key)?.countAt(this.#clock.steady()) ?? 0
  }

  #windowOf(key: string): SlidingWindow {
    const known = this.#windows.get(key)
    if (known) return known
    const window = new SlidingWindow(this.#rate.windowMs)
    this.#windows.set(key, window)
    return window
  }
}

const waitOf = (window: SlidingWindow | undefined, now: number, limit: number): number =>
  window && window.countAt(now) >= limit ? window.untilNext(now, limit) : 0
