import { BoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'

/** Senders that are remembered. */
const maxSenders = 10_000

/** How many messages each sender has begun in the last minute (or other window), against one limit for all. */
export class MessageRate {
  readonly #clock: Clock
  readonly #limit: number
  readonly #windowMs: number
  readonly #startedAt = new BoundedMap<string, number[]>(maxSenders)

  constructor(clock: Clock, limit: number, windowMs = 60_000) {
    this.#clock = clock
    this.#limit = limit
    this.#windowMs = windowMs
  }

  /** Counts one more message, unless the sender has reached its limit: then false, and nothing is counted. */
  take(sender: string): boolean {
    // The time of day may be set back, and nobody must wait for it to come again.
    const now = this.#clock.steady()
    const recent = this.#startedAt.get(sender) ?? []
    while (recent[0] !== undefined && recent[0] <= now - this.#windowMs) recent.shift()
    if (recent.length >= this.#limit) return false
    recent.push(now)
    this.#startedAt.put(sender, recent)
    return true
  }
}
