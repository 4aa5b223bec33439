import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'
import { SlidingWindow } from './sliding-window.ts'

/** Keys that are remembered; beyond that the least recently used one starts afresh. */
const mostKeys = 10_000

export const minuteMs = 60_000

interface Rate {
  /** 0: no limit. */
  limit: number
  windowMs: number
}

/** Holds each of many keys (a client network, an account) to the same limit within a sliding window. */
export class RateLimiter {
  readonly #clock: Clock
  readonly #rate: Rate
  readonly #windows = new LRUCache<string, SlidingWindow>({ max: mostKeys })

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock
    this.#rate = rate
  }

  /** Counts one more for each of these keys: 0. If one has reached its limit, counts none and returns how long to wait, ms. */
  take(...keys: string[]): number {
    const { limit } = this.#rate
    if (limit === 0) return 0
    // The time of day may be set back, and nobody must wait for it to come again.
    const now = this.#clock.steady()
    const windows = keys.map((key) => this.#windowOf(key))
    const waits = windows.map((window) => (window.countAt(now) < limit ? 0 : window.untilNext(now, limit)))
    const waitMs = Math.max(...waits)
    if (waitMs === 0) for (const window of windows) window.take(now, limit)
    return waitMs
  }

  /** Takes back what was counted last for each of these keys. */
  giveBack(...keys: string[]): void {
    for (const key of keys) this.#windows.get(key)?.giveBack()
  }

  /** How many are counted for this key now. */
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
