import { BoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'

/** Mail to addresses that carry a token of ours, and mail to those that anybody can know, so that neither crowds out the other. */
export type ReportBox = 'proved' | 'open'

/** What one report costs at least, bytes: the pages and rows around it. */
const smallestCost = 4096
const dayMs = 86_400_000
/** One source gets this part of a box in a day. */
const shareOfSource = 1 / 16
/** Sources that are remembered. */
const maxSources = 10_000

/** The bytes that a report of this size counts for. */
export const costOf = (size: number): number => Math.max(size, smallestCost)

/**
 * How much of what strangers send is kept: so much in each box, and of that a small part from one source in a day. What
 * lies there stays, what comes is refused, so that a flood washes nothing away.
 */
export class ReportBudget {
  readonly #clock: Clock
  readonly #limit: number
  #kept: Record<ReportBox, number> = { proved: 0, open: 0 }
  readonly #bySource = new BoundedMap<string, { cost: number; until: number }>(maxSources)

  /** `limit`: of each box, bytes */
  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  /** Counts a report; false, and nothing is counted, where there is no room for it. `source`: a token, or a client's network. */
  take(box: ReportBox, source: string, cost: number): boolean {
    const now = this.#clock.steady()
    const known = this.#bySource.get(source)
    const today = known && known.until > now ? known : { cost: 0, until: now + dayMs }
    // One alone is always within the share, or a small limit would let nothing in.
    const isAboveShare = today.cost > 0 && today.cost + cost > this.#limit * shareOfSource
    if (isAboveShare || this.#kept[box] + cost > this.#limit) return false
    this.#kept[box] += cost
    today.cost += cost
    this.#bySource.put(source, today)
    return true
  }

  /** What is kept now. */
  measured(kept: Record<ReportBox, number>): void {
    this.#kept = kept
  }
}
