import { DueHeap } from './due-heap.ts'

/** A destination that has mail waiting in the queue, or in hand. */
interface Destination {
  /** When the first of what waits is due, epoch ms; infinite where nothing waits. */
  dueAt: number
  /** Recipients in hand. */
  inHand: number
}

/**
 * The destinations that the queue has mail for, in memory: one entry a destination, however long the queue. Taking
 * turns between destinations keeps a slow one, or one with a long queue, from holding up the others.
 */
export class DestinationDirectory {
  readonly #destinations = new Map<string, Destination>()
  readonly #heap = new DueHeap()
  /** Those that more could be claimed for, but as much as may be is in hand. They are not on the heap. */
  readonly #full = new Set<Destination>()
  readonly #limit: number
  readonly #totalLimit: number
  #inHand = 0

  /** `limit`: recipients that may be in hand for one destination; `totalLimit`: for all together. */
  constructor(limit: number, totalLimit: number) {
    this.#limit = limit
    this.#totalLimit = totalLimit
  }

  /** Recipients in hand, for all destinations together. */
  get inHand(): number {
    return this.#inHand
  }

  /** When the first destination that may be claimed from is due, epoch ms; infinite where there is none. */
  get firstDueAt(): number {
    return this.#heap.firstDueAt
  }

  /** When the oldest of what waits was due, epoch ms, full destinations among it; infinite where nothing waits. */
  get oldestDueAt(): number {
    this.#dropOutdated()
    let oldest = this.#heap.firstDueAt
    for (const { dueAt } of this.#full) oldest = Math.min(oldest, dueAt)
    return oldest
  }

  /** Mail for this destination waits in the queue and is due at this time. */
  noteWaiting(name: string, dueAt: number): void {
    const destination = this.#destination(name)
    if (dueAt >= destination.dueAt) return
    destination.dueAt = dueAt
    if (!this.#full.has(destination)) this.#heap.push(name, dueAt)
  }

  /**
   * True where mail for the destination waits that is due, or more is in hand than claiming would allow: newer mail
   * has to queue up behind it.
   */
  isBehind(name: string, now: number): boolean {
    const destination = this.#destinations.get(name)
    return destination !== undefined && (destination.dueAt <= now || destination.inHand >= 2 * this.#limit)
  }

  /** The next destination to claim from, and how many recipients; undefined where none is due. */
  next(now: number): { name: string; room: number } | undefined {
    while (this.#heap.firstDueAt <= now) {
      const { key: name, dueAt } = this.#heap.pop() as { key: string; dueAt: number }
      const destination = this.#destinations.get(name)
      if (!destination || destination.dueAt !== dueAt) continue
      const room = this.#share() - destination.inHand
      if (room <= 0) {
        this.#full.add(destination)
        continue
      }
      destination.dueAt = Infinity
      return { name, room }
    }
    return undefined
  }

  tookInHand(name: string, recipients: number): void {
    this.#inHand += recipients
    this.#destination(name).inHand += recipients
  }

  letGo(name: string, recipients: number): void {
    const destination = this.#destination(name)
    destination.inHand -= recipients
    this.#inHand -= recipients
    if (this.#full.delete(destination)) this.#heap.push(name, destination.dueAt)
    if (destination.inHand === 0 && destination.dueAt === Infinity) this.#destinations.delete(name)
  }

  /** Takes entries off the top of the heap that stand for no time any more. */
  #dropOutdated(): void {
    for (let first = this.#heap.first; first && this.#destinations.get(first.key)?.dueAt !== first.dueAt; first = this.#heap.first) this.#heap.pop()
  }

  /**
   * How many one destination may have in hand now: the less is left, the fewer, down to one when a quarter is left. It
   * takes hundreds of destinations that hang to leave nothing for the others.
   */
  #share(): number {
    const left = (this.#totalLimit - this.#inHand) / this.#totalLimit
    return Math.max(1, Math.ceil(this.#limit * left ** 3))
  }

  #destination(name: string): Destination {
    let destination = this.#destinations.get(name)
    if (!destination) {
      destination = { dueAt: Infinity, inHand: 0 }
      this.#destinations.set(name, destination)
    }
    return destination
  }
}
