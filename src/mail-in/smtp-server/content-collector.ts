import { chunkSize, type Content } from '../../mail/message/content.ts'
import type { MemoryPool } from '../../platform/memory-pool.ts'
import { joinInto, joinShared } from '../../platform/shared-memory.ts'

/** Complete chunks that may be in memory before they must be stored. */
const maxWaiting = 4

/** Stores chunks of the message, starting with number `first`. */
type Store = (first: number, chunks: Uint8Array[]) => Promise<void>

/**
 * Collects a message into chunks in shared memory. A message of up to five chunks stays in memory; a larger one is stored while it arrives,
 * five chunks per commit, and uses no more memory than that.
 */
export class ContentCollector {
  readonly #store: Store | null
  readonly #memory: MemoryPool | null
  /** Not in chunks yet: fewer bytes than one. */
  #pieces: Uint8Array[] = []
  #pieceBytes = 0
  #chunks: Uint8Array[] = []
  #stored = 0
  #size = 0

  /**
   * @param store null if everything stays in memory
   * @param memory for messages of one chunk
   */
  constructor(store: Store | null, memory: MemoryPool | null = null) {
    this.#store = store
    this.#memory = memory
  }

  add(bytes: Uint8Array): void {
    this.#size += bytes.length
    let rest = bytes
    while (this.#pieceBytes + rest.length >= chunkSize) {
      const room = chunkSize - this.#pieceBytes
      this.#pieces.push(rest.subarray(0, room))
      this.#pieceBytes = chunkSize
      this.#chunks.push(this.#join())
      rest = rest.subarray(room)
    }
    if (rest.length === 0) return
    this.#pieces.push(rest)
    this.#pieceBytes += rest.length
  }

  /** True if nothing more may be added before `spill` has ended. */
  get isFull(): boolean {
    return this.#store !== null && this.#chunks.length > maxWaiting
  }

  /** Stores the complete chunks. */
  async spill(): Promise<void> {
    const chunks = this.#chunks
    const first = this.#stored
    this.#chunks = []
    this.#stored += chunks.length
    await this.#store?.(first, chunks)
  }

  finish(): Content {
    const loan = this.#chunks.length === 0 && this.#stored === 0 ? this.#memory?.lend(this.#size) : undefined
    if (loan) {
      joinInto(loan.bytes, this.#pieces)
      this.#pieces = []
      return { size: this.#size, pending: [loan.bytes], stored: 0, loan }
    }
    const pending = this.#pieceBytes > 0 ? [...this.#chunks, this.#join()] : this.#chunks
    return { size: this.#size, pending, stored: this.#stored }
  }

  #join(): Uint8Array {
    const chunk = joinShared(this.#pieces)
    this.#pieces = []
    this.#pieceBytes = 0
    return chunk
  }
}
