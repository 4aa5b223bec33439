import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'

/**
 * Mail to addresses that carry a token of ours, reports to those that anybody can know, and mail for the operator, so that none
 * crowds out another.
 */
export type ReturnPathBox = 'proved' | 'open' | 'operator'

/** What one report costs at least, bytes: the pages and rows around it. */
const smallestCost = 4096
const dayMs = 86_400_000
/** One source gets this part of a box in a day. */
const shareOfSource = 1 / 16
/** Sources that are remembered. */
const maxSources = 10_000

/** The bytes that a message of this size counts for: each of its recipients has it read, and something kept of it. */
export const costOf = (size: number, recipients: number): number => Math.max(size, smallestCost) * recipients

/** What one source has had kept. `until`: of its day, by the clock that goes evenly. */
interface SourceShare {
  cost: number
  until: number
}

/** How much of what strangers send is kept: so much in each box, and of that a small part from one source in a day. */
export class ReturnedMailBudget {
  readonly #clock: Clock
  readonly #limit: number
  #kept: Record<ReturnPathBox, number> = { proved: 0, open: 0, operator: 0 }
  readonly #bySource = new LRUCache<string, SourceShare>({ max: maxSources })

  /** `limit`: of each box, bytes */
  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  /**
   * Counts a report; false, and nothing is counted, where there is no room for it. `source`: a token, or a client's network;
   * null for one that no share is set for.
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

  /** Of what is no longer kept. */
  giveBack(box: ReturnPathBox, cost: number): void {
    this.#kept[box] -= cost
  }

  #todayOf(source: string): SourceShare {
    const now = this.#clock.steady()
    const known = this.#bySource.get(source)
    return known && known.until > now ? known : { cost: 0, until: now + dayMs }
  }

  /** One alone is always within the share, or a small limit would let nothing in. */
  #isAboveShare(source: string | null, cost: number): boolean {
    if (source === null) return false
    const today = this.#todayOf(source)
    return today.cost > 0 && today.cost + cost > this.#limit * shareOfSource
  }

  /** What is kept now. */
  measured(kept: Record<ReturnPathBox, number>): void {
    this.#kept = kept
  }
}
