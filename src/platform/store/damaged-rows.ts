/** How long rows that cannot be claimed are passed over before they are tried again, ms. */
const passedForMs = 60_000

/** How many rows are passed over at a time: more than a few damaged pages hold. */
const maxPassed = 500

interface Way {
  /** How many of the first rows that are due to pass over. */
  skip: number
  /** How many rows to claim at most. */
  most: number
  /** Epoch, ms. */
  until: number
}

/**
 * Which rows of a queue, such as the mail for one destination, to pass over because the pages that hold them are damaged. They stay the
 * first that are due, so without this nothing behind them would ever be claimed.
 */
export class DamagedRows {
  readonly #ways = new Map<string, Way>()

  /** How to claim from this queue; `until`: when to look again at what is passed over, null if nothing is. */
  wayFor(queue: string, now: number): { skip: number; most: number; until: number | null } {
    const way = this.#ways.get(queue)
    if (!way) return { skip: 0, most: Infinity, until: null }
    if (now < way.until) return way
    this.#ways.delete(queue)
    return { skip: 0, most: Infinity, until: null }
  }

  /**
   * Claiming so many rows met damage: next, the first of them is claimed alone, or passed over if it was alone. Returns when to claim
   * again, epoch ms.
   */
  met(queue: string, claimed: number, now: number): number {
    const { skip } = this.wayFor(queue, now)
    const until = now + passedForMs
    this.#ways.set(queue, { skip: claimed > 1 ? skip : skip + 1, most: 1, until })
    return skip < maxPassed ? now : until
  }

  /** What was claimed could be read: more is claimed at a time. */
  passed(queue: string): void {
    const way = this.#ways.get(queue)
    if (way) way.most *= 2
  }
}
