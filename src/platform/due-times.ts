import { DueHeap } from './due-heap.ts'

/** How much longer than its keys the heap may be: what is outdated in it goes only from its top. */
const slack = 64

/** Keys, each with the time it is due, epoch ms. */
export class DueTimes {
  readonly #times = new Map<string, number>()
  #heap = new DueHeap()

  /** Infinite if it is not among them. */
  of(key: string): number {
    return this.#times.get(key) ?? Infinity
  }

  set(key: string, dueAt: number): void {
    if (this.#times.get(key) === dueAt) return
    this.#times.set(key, dueAt)
    this.#heap.push({ key, dueAt })
    if (this.#heap.length > 2 * this.#times.size + slack) this.#rebuild()
  }

  delete(key: string): void {
    this.#times.delete(key)
  }

  /** The first that is due; undefined if there is none. */
  get first(): string | undefined {
    for (let first = this.#heap.peek(); first; first = this.#heap.peek()) {
      if (this.#times.get(first.key) === first.dueAt) return first.key
      this.#heap.pop()
    }
    return undefined
  }

  /** When that is, epoch ms; infinite if there is none. */
  get firstDueAt(): number {
    const { first } = this
    return first === undefined ? Infinity : this.of(first)
  }

  #rebuild(): void {
    this.#heap = new DueHeap()
    for (const [key, dueAt] of this.#times) this.#heap.push({ key, dueAt })
  }
}
