import { BoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'

const windowMs = 60_000
/** Senders that are remembered. */
const maxSenders = 10_000

/** How many messages each sender has begun in the last 60 seconds, against one limit for all. */
export class MessageRate {
  readonly #clock: Clock
  readonly #limit: number
  readonly #startedAt = new BoundedMap<string, number[]>(maxSenders)

  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  /** Counts one more message, unless the sender has reached its limit: then false, and nothing is counted. */
  take(sender: string): boolean {
    const now = this.#clock.now()
    const recent = this.#startedAt.get(sender) ?? []
    while (recent[0] !== undefined && recent[0] <= now - windowMs) recent.shift()
    if (recent.length >= this.#limit) return false
    recent.push(now)
    this.#startedAt.put(sender, recent)
    return true
  }
}
