import type { DnsAnswer } from '../resolver.ts'

interface Kept {
  answer: DnsAnswer<unknown>
  expiresAt: number
}

/** Larger answers are asked for again rather than kept, so that nobody fills our memory with them. */
const largestKept = 8192

/** Answers while their TTL lasts; where there are too many, the one used longest ago goes first. */
export class DnsCache {
  readonly #limit: number
  readonly #now: () => number
  readonly #kept = new Map<string, Kept>()

  /** `limit`: answers; `now`: ms on any clock that does not go back */
  constructor(limit: number, now: () => number) {
    this.#limit = limit
    this.#now = now
  }

  /** A copy of the answer with the TTL that is left of it; null where none is kept. */
  find(key: string): DnsAnswer<unknown> | null {
    const found = this.#kept.get(key)
    if (!found) return null
    const leftMs = found.expiresAt - this.#now()
    this.#kept.delete(key)
    if (leftMs <= 0) return null
    this.#kept.set(key, found) // the one used last is dropped last
    const { status, records, secure } = found.answer
    return { status, records: records.slice(), ttl: Math.ceil(leftMs / 1000), secure, isKept: true }
  }

  /** @param size bytes of the messages that the answer was read from */
  keep(key: string, answer: DnsAnswer<unknown>, size: number): void {
    if (answer.ttl === 0 || size > largestKept) return
    this.#kept.delete(key)
    this.#kept.set(key, { answer, expiresAt: this.#now() + answer.ttl * 1000 })
    const [oldest] = this.#kept.size > this.#limit ? this.#kept.keys() : []
    if (oldest !== undefined) this.#kept.delete(oldest)
  }
}
