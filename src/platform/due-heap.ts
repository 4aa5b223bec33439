import TinyQueue from 'tinyqueue'

interface Entry {
  key: string
  /** Epoch, ms. */
  dueAt: number
}

/** Keys by the time they are due, earliest first. A key may be in it more than once; the consumer decides which entry counts. */
export class DueHeap extends TinyQueue<Entry> {
  constructor() {
    // Infinite times are equal; their difference is not 0.
    super([], (a, b) => (a.dueAt === b.dueAt ? 0 : a.dueAt - b.dueAt))
  }

  /** When the earliest is due, epoch ms; infinite if there is none. */
  get firstDueAt(): number {
    return this.peek()?.dueAt ?? Infinity
  }
}
