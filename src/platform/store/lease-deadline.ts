/** ms since an arbitrary time, the same for all threads; 32 bits of it, which wrap around after 49 days. */
const sharedNow = (): number => Number(process.hrtime.bigint() / 1_000_000n) | 0

/**
 * Until when a node's lease lasts for certain, in memory that its threads share. Afterwards others may have taken over what it has in hand, so
 * it begins nothing more with it.
 */
export class LeaseDeadline {
  readonly cells: SharedArrayBuffer
  /** Whether the lease ends at all, and when. */
  readonly #state: Int32Array
  readonly #now: () => number

  /** @param cells of the deadline that another thread keeps; default: one of its own, which never comes */
  constructor(cells = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT), now = sharedNow) {
    this.cells = cells
    this.#state = new Int32Array(cells)
    this.#now = now
  }

  /** The lease lasts for this long from now, ms. */
  set(leftMs: number): void {
    Atomics.store(this.#state, 1, this.#now() + leftMs)
    Atomics.store(this.#state, 0, 1)
  }

  get isPast(): boolean {
    return Atomics.load(this.#state, 0) === 1 && ((Atomics.load(this.#state, 1) - this.#now()) | 0) <= 0
  }
}
