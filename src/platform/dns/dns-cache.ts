import type { LRUCache } from 'lru-cache'
import { lastUsed } from '../last-used.ts'
import type { DnsAnswer } from '../resolver.ts'

interface Kept {
  answer: DnsAnswer<unknown>
  expiresAt: number
}

/** bytes; larger answers are not cached, so that nobody can fill our memory with them */
const maxKeptBytes = 8192

/** Caches answers while their TTL lasts, up to a limit. */
export class DnsCache {
  readonly #now: () => number
  readonly #kept: LRUCache<string, Kept>

  /** `limit`: answers; `now`: ms on a clock that never goes back */
  constructor(limit: number, now: () => number) {
    this.#now = now
    this.#kept = lastUsed(limit)
  }

  /** A copy of the answer with its remaining TTL; null if there is none. */
  find(key: string): DnsAnswer<unknown> | null {
    const found = this.#kept.get(key)
    const leftMs = found ? found.expiresAt - this.#now() : 0
    if (!found || leftMs <= 0) return null
    return { ...found.answer, records: found.answer.records.slice(), ttl: Math.ceil(leftMs / 1000) }
  }

  /** @param size bytes of the messages that contained the answer */
  keep(key: string, answer: DnsAnswer<unknown>, size: number): void {
    if (answer.ttl === 0 || size > maxKeptBytes) return
    this.#kept.set(key, { answer: { ...answer, isKept: true }, expiresAt: this.#now() + answer.ttl * 1000 })
  }

  /** Forgets the answers that no validating name server gave. */
  dropUnvalidated(): void {
    for (const [key, { value }] of this.#kept.dump()) if (value.answer.isValidated !== true) this.#kept.delete(key)
  }
}
