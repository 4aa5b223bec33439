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
    // What is refused makes no window: one who is locked out could evict the windows of others with keys of his invention.
    const waitMs = Math.max(...keys.map((key) => waitOf(this.#windows.get(key), now, limit)))
    if (waitMs === 0) for (const key of keys) this.#windowOf(key).take(now, limit)
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

const waitOf = (window: SlidingWindow | undefined, now: number, limit: number): number =>
  window && window.countAt(now) >= limit ? window.untilNext(now, limit) : 0
