import type { Clock } from '../clock.ts'

const windowMs = 60_000

/** How many messages each account has begun in the last 60 seconds, against one limit for all. */
export class MessageRate {
  readonly #clock: Clock
  readonly #limit: number
  readonly #startedAt = new Map<string, number[]>()

  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  /** Counts one more message, unless the account has reached its limit: then false, and nothing is counted. */
  take(accountId: string): boolean {
    const now = this.#clock.now()
    const recent = this.#startedAt.get(accountId) ?? []
    while (recent[0] !== undefined && recent[0] <= now - windowMs) recent.shift()
    if (recent.length >= this.#limit) return false
    recent.push(now)
    this.#startedAt.set(accountId, recent)
    return true
  }
}
