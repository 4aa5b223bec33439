import { joinShared } from '../shared-memory.ts'
import type { MessageCollector } from '../smtp-server/read-message.ts'
import { SmtpRefusal, replyOf } from '../smtp-server/smtp-refusal.ts'

/** Limits the bytes of returned mail in memory while it arrives, over all connections. */
export class ReturnedMailMemory {
  #left: number

  constructor(bytes: number) {
    this.#left = bytes
  }

  /** @throws SmtpRefusal if there is no room */
  take(bytes: number): void {
    if (bytes > this.#left) throw new SmtpRefusal(tooMuchAtOnce)
    this.#left -= bytes
  }

  giveBack(bytes: number): void {
    this.#left += bytes
  }
}

const tooMuchAtOnce = replyOf(452, '4.3.1', 'Too much mail is arriving now, try again later')

/** Collects one message in memory. */
export class ReturnedMailCollector implements MessageCollector {
  readonly #memory: ReturnedMailMemory
  #pieces: Uint8Array[] = []
  #size = 0
  readonly isFull = false

  constructor(memory: ReturnedMailMemory) {
    this.#memory = memory
  }

  add(bytes: Uint8Array): void {
    this.#memory.take(bytes.length)
    this.#size += bytes.length
    this.#pieces.push(bytes)
  }

  async spill(): Promise<void> {}

  /** The message in shared memory, so that the store thread needs no copy. */
  finish(): Uint8Array {
    const whole = joinShared(this.#pieces)
    this.#pieces = []
    return whole
  }

  /** Releases the memory. */
  drop(): void {
    this.#memory.giveBack(this.#size)
    this.#pieces = []
    this.#size = 0
  }
}
