import { fairShare } from '../../platform/fair-share.ts'

/** Whose password is hashed. */
export interface HashParty {
  /** A user, or the network of a client who has shown nothing yet. */
  name: string
  /** True of users who are logged in, whose device is known, or who hold a link: strangers cannot take their places. */
  isKnown: boolean
}

/** A user who has shown who they are. */
export const knownParty = (userId: string): HashParty => ({ name: userId, isKnown: true })

/** Concurrent hashes: each takes 19 or 32 MiB and one of the four threads that files, DNS and keys need too. */
const maxAtOnce = 2
/** Further ones wait, so many known ones and so many others. A longer line would only make everybody wait in vain. */
const maxWaiting = 32
/** Of one party, while nobody else waits. */
const maxPerParty = 16

/**
 * The turns of password hashes. Known users and strangers wait in lines of their own, which take turns, so however many strangers wait, a
 * known user comes after one of them at most. Within a line the parties take turns, and each has a fair share of the places.
 */
export class HashTurns {
  readonly #known = new Line()
  readonly #others = new Line()
  #running = 0
  #wasKnown = false

  /** Runs the work when its turn comes; null if there is no place. */
  async take<T>({ name, isKnown }: HashParty, work: () => Promise<T>): Promise<{ done: T } | null> {
    if (this.#running < maxAtOnce) this.#running += 1
    else {
      const { promise, resolve } = Promise.withResolvers<void>()
      if (!(isKnown ? this.#known : this.#others).add(name, resolve)) return null
      await promise
    }
    try {
      return { done: await work() }
    } finally {
      this.#giveTurn()
    }
  }

  /** The next one takes over the slot. */
  #giveTurn(): void {
    const isKnownsTurn = !this.#known.isEmpty && (this.#others.isEmpty || !this.#wasKnown)
    const start = (isKnownsTurn ? this.#known : this.#others).next()
    this.#wasKnown = isKnownsTurn
    if (start) start()
    else this.#running -= 1
  }
}

/** Those who wait, by party; the first party has the next turn. */
class Line {
  readonly #parties = new Map<string, (() => void)[]>()
  #waiting = 0

  get isEmpty(): boolean {
    return this.#waiting === 0
  }

  /** False if the line, or the party's share of it, is full. */
  add(party: string, start: () => void): boolean {
    const own = this.#parties.get(party) ?? []
    if (this.#waiting >= maxWaiting || own.length >= fairShare(maxPerParty, 1 - this.#waiting / maxWaiting)) return false
    this.#parties.set(party, [...own, start])
    this.#waiting += 1
    return true
  }

  next(): (() => void) | undefined {
    const [entry] = this.#parties
    if (!entry) return undefined
    const [party, [start, ...others]] = entry
    this.#parties.delete(party)
    if (others.length > 0) this.#parties.set(party, others)
    this.#waiting -= 1
    return start
  }
}
