import { DueHeap } from './due-heap.ts'

/** A destination that has mail waiting in the queue, or in hand. */
interface Destination {
  /** When the first of what waits is due, epoch ms; infinite where nothing waits. */
  dueAt: number
  /** Recipients in hand. */
  inHand: number
  /** True where more could be claimed, but as much as may be is in hand. */
  full: boolean
}

/**
 * The destinations that the queue has mail for, in memory: one entry a destination, however long the queue. Taking
 * turns between destinations keeps a slow one, or one with a long queue, from holding up the others.
 */
export class DestinationDirectory {
  readonly #destinations = new Map<string, Destination>()
  readonly #heap = new DueHeap()
  readonly #limit: number
  readonly #totalLimit: number
  #inHand = 0

  /** `limit`: recipients that may be in hand for one destination; `totalLimit`: for all together. */
  constructor(limit: number, totalLimit: number) {
    this.#limit = limit
    this.#totalLimit = totalLimit
  }

  /** When the first destination that may be claimed from is due, epoch ms; infinite where there is none. */
  get firstDueAt(): number {
    return this.#heap.firstDueAt
  }

  /** Mail for this destination waits in the queue and is due at this time. */
  noteWaiting(name: string, dueAt: number): void {
    const destination = this.#destination(name)
    if (dueAt >= destination.dueAt) return
    destination.dueAt = dueAt
    if (!destination.full) this.#heap.push(name, dueAt)
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
      destination.full = room <= 0
      if (destination.full) continue
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
    if (destination.full) {
      destination.full = false
      this.#heap.push(name, destination.dueAt)
    }
    if (destination.inHand === 0 && destination.dueAt === Infinity) this.#destinations.delete(name)
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
      destination = { dueAt: Infinity, inHand: 0, full: false }
      this.#destinations.set(name, destination)
    }
    return destination
  }
}
