import type { ReaderHit } from './reader-hit.ts'
import type { JudgedHit } from './hit-store.ts'

/** A hit with its request. `stored` is null for the hidden link and for HEAD, which only say something about other hits. */
export interface RecentHit {
  /** `hit_…` */
  id: string
  came: ReaderHit
  stored: JudgedHit | null
  /** Null until the hit has settled. */
  eventId: string | null
}

/** Limits memory: a hit with its headers takes about 2 KB. */
const maxHits = 10_000

/**
 * Recent hits with all it takes to recognise machines. Addresses and headers are stored nowhere else, and only as long as later hits may
 * change the verdict on earlier ones.
 */
export class RecentHits {
  readonly #byRecipient = new Map<string, RecentHit[]>()
  #size = 0

  get isEmpty(): boolean {
    return this.#size === 0
  }

  /** In order of arrival. */
  of(recipientId: string): readonly RecentHit[] {
    return this.#byRecipient.get(recipientId) ?? []
  }

  add(hit: RecentHit): void {
    const { recipientId } = hit.came
    this.#put(recipientId, [...this.of(recipientId), hit])
  }

  /** Takes over what all nodes know of a recipient. */
  learn(recipientId: string, known: readonly RecentHit[]): void {
    if (known.length === 0) return
    const ids = new Set(known.map(({ id }) => id))
    const own = this.of(recipientId).filter(({ id }) => !ids.has(id))
    this.#put(recipientId, [...own, ...known])
  }

  #put(recipientId: string, hits: RecentHit[]): void {
    this.#forget(recipientId)
    // Keeps the most recent recipient last.
    this.#byRecipient.set(recipientId, hits)
    this.#size += hits.length
    for (const oldest of this.#byRecipient.keys()) {
      if (this.#size <= maxHits) return
      this.#forget(oldest)
    }
  }

  /** Forgets recipients without a hit since this time (epoch, ms). */
  forgetBefore(time: number): void {
    for (const [recipientId, hits] of this.#byRecipient) {
      if ((hits.at(-1)?.came.at ?? 0) >= time) return
      this.#forget(recipientId)
    }
  }

  #forget(recipientId: string): void {
    this.#size -= this.of(recipientId).length
    this.#byRecipient.delete(recipientId)
  }
}
