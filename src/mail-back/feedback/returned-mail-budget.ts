import { lastUsed } from '../../platform/last-used.ts'
import type { Clock } from '../../platform/clock.ts'

/**
 * Storage is divided, so that none crowds out another: mail to addresses with a valid token, mail to addresses that
 * anybody can know, and mail for the operator.
 */
export type ReturnPathBox = 'proved' | 'open' | 'operator'

/** bytes; the minimum cost of a message, for its pages and rows */
const smallestCost = 4096
const dayMs = 86_400_000
/** The part of a box that one source may fill per day. */
const shareOfSource = 1 / 16
/** Sources remembered. */
const maxSources = 10_000

/** The bytes that a message counts for. Each of its recipients is a row of its own that is read on its own. */
export const costOf = (size: number, recipients: number): number => Math.max(size, smallestCost) * recipients

/** What one source has stored. `until`: the end of its day, by the steady clock. */
interface SourceShare {
  cost: number
  until: number
}

/** Limits how much mail from strangers is stored: a fixed size per box, and a small share of it per source and day. */
export class ReturnedMailBudget {
  readonly #clock: Clock
  readonly #limit: number
  #kept: Record<ReturnPathBox, number> = { proved: 0, open: 0, operator: 0 }
  readonly #bySource = lastUsed<SourceShare>(maxSources)

  /** `limit`: bytes per box */
  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  /**
   * Counts a message. Returns false, and counts nothing, if there is no room. `source`: a token, or the
   * client's network; null if no share applies.
   */
  take(box: ReturnPathBox, source: string | null, cost: number): boolean {
    if (this.#isAboveShare(source, cost) || this.#kept[box] + cost > this.#limit) return false
    this.#kept[box] += cost
    if (source === null) return true
    const today = this.#todayOf(source)
    today.cost += cost
    this.#bySource.set(source, today)
    return true
  }

  /** Whether `take` could succeed if the box were empty. */
  mayEverTake(source: string | null, cost: number): boolean {
    return cost <= this.#limit && !this.#isAboveShare(source, cost)
  }

  /** Call it when content has been deleted. */
  giveBack(box: ReturnPathBox, cost: number): void {
    this.#kept[box] -= cost
  }

  #todayOf(source: string): SourceShare {
    const now = this.#clock.steady()
    const known = this.#bySource.get(source)
    return known && known.until > now ? known : { cost: 0, until: now + dayMs }
  }

  /** The first message of a day always fits, or a small limit would let nothing in. */
  #isAboveShare(source: string | null, cost: number): boolean {
    if (source === null) return false
    const today = this.#todayOf(source)
    return today.cost > 0 && today.cost + cost > this.#limit * shareOfSource
  }

  /** Replaces the counts. */
  measured(kept: Record<ReturnPathBox, number>): void {
    this.#kept = kept
  }
}
