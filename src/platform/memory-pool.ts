import { sharedBytes } from './shared-memory.ts'

/** Sizes of pieces, bytes: powers of two. For smaller ones the garbage collector does as well. */
const smallest = 32 * 1024
const largest = 256 * 1024
/** How much free memory is kept, bytes. */
const maxFreeBytes = 8 * 1024 * 1024
/** How long free memory that nobody needs is kept, ms. */
const keptMs = 10_000

/** Free memory of one size. */
interface Shelf {
  free: SharedArrayBuffer[]
  /** The fewest that were free since the last look: so many were not needed. */
  unneeded: number
}

/**
 * Shared memory that is used again once it was given back. The pool keeps no record of what it has lent: where it is not certain that no
 * thread reads a piece any more, the piece is left to the garbage collector and never used again.
 */
export class MemoryPool {
  readonly #shelves = new Map<number, Shelf>()
  #freeBytes = 0
  #timer: NodeJS.Timeout | null = null

  /** bytes */
  get freeBytes(): number {
    return this.#freeBytes
  }

  /** Memory of this size, which may have bytes of earlier messages in it; null for a size that is not kept. */
  lend(bytes: number): Loan | null {
    const size = 2 ** Math.ceil(Math.log2(bytes))
    if (size < smallest || size > largest) return null
    const shelf = this.#shelves.get(size)
    const memory = shelf?.free.pop()
    if (!shelf || !memory) return new Loan(sharedBytes(size).buffer, bytes, this.#takeBack)
    this.#freeBytes -= size
    shelf.unneeded = Math.min(shelf.unneeded, shelf.free.length)
    return new Loan(memory, bytes, this.#takeBack)
  }

  readonly #takeBack = (memory: SharedArrayBuffer): void => {
    const size = memory.byteLength
    if (this.#freeBytes + size > maxFreeBytes) return
    this.#freeBytes += size
    const shelf = this.#shelves.get(size)
    if (shelf) shelf.free.push(memory)
    else this.#shelves.set(size, { free: [memory], unneeded: 0 })
    if (!this.#timer) this.#timer = setTimeout(this.#dropUnneeded, keptMs).unref()
  }

  readonly #dropUnneeded = (): void => {
    for (const [size, shelf] of this.#shelves) {
      this.#freeBytes -= shelf.free.splice(0, shelf.unneeded).length * size
      shelf.unneeded = shelf.free.length
    }
    this.#timer = this.#freeBytes > 0 ? setTimeout(this.#dropUnneeded, keptMs).unref() : null
  }
}

/** Memory on loan from a pool. */
export class Loan {
  readonly bytes: Uint8Array<SharedArrayBuffer>
  #takeBack: ((memory: SharedArrayBuffer) => void) | null

  constructor(memory: SharedArrayBuffer, bytes: number, takeBack: (memory: SharedArrayBuffer) => void) {
    this.bytes = new Uint8Array(memory, 0, bytes)
    this.#takeBack = takeBack
  }

  /**
   * Call it once no thread reads or writes the memory any more, for the next message is written over it.
   * @throws Error if it was given back before
   */
  giveBack(): void {
    const takeBack = this.#takeBack
    if (!takeBack) throw new Error('memory was given back twice')
    this.#takeBack = null
    takeBack(this.bytes.buffer)
  }
}
