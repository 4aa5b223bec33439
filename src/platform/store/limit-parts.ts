/**
 * The part that each node has of a limit on how much is done elsewhere at a time, such as connections to one host: the limit is divided by the
 * nodes that live, in memory that the threads of this one share.
 */
export class LimitParts {
  readonly cells: SharedArrayBuffer
  readonly #nodes: Int32Array

  /** @param cells that another thread keeps; default: of its own, for one node */
  constructor(cells = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.cells = cells
    this.#nodes = new Int32Array(cells)
  }

  /** @param nodes how many live, this one among them */
  set(nodes: number): void {
    Atomics.store(this.#nodes, 0, nodes)
  }

  /** At least 1: a node that may do nothing would hold up what it has claimed. */
  of(limit: number): number {
    return Math.max(1, Math.floor(limit / Math.max(1, Atomics.load(this.#nodes, 0))))
  }
}
