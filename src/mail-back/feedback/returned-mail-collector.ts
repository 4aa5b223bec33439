import { joinShared } from '../../platform/shared-memory.ts'
import type { MessageTaker } from '../../mail-in/smtp-server/read-message.ts'
import { SmtpRefusal, replyOf, tooBig } from '../../mail-in/smtp-server/smtp-refusal.ts'

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

/** How much of a message counts, bytes. */
interface ReturnedMailSize {
  /** A larger message is refused. */
  accepted: number
  /** What is kept of it, from its beginning. */
  kept: number
}

/**
 * Collects one message in memory, or its beginning: a report comes before the message that it returns. Takes any bytes. Bare CR and LF and
 * NUL are faults of the message that a host returns as it came, and nothing of it is relayed.
 */
export class ReturnedMailCollector implements MessageTaker {
  readonly #memory: ReturnedMailMemory
  readonly #size: ReturnedMailSize
  #pieces: Uint8Array[] = []
  #arrived = 0
  #held = 0
  fault: unknown = null

  constructor(memory: ReturnedMailMemory, size: ReturnedMailSize) {
    this.#memory = memory
    this.#size = size
  }

  add(piece: Uint8Array): void {
    if (this.fault !== null) return
    this.#arrived += piece.length
    const kept = piece.subarray(0, this.#size.kept - this.#held)
    try {
      if (this.#arrived > this.#size.accepted) throw new SmtpRefusal(tooBig(this.#size.accepted))
      this.#memory.take(kept.length)
      this.#held += kept.length
      if (kept.length > 0) this.#pieces.push(kept)
    } catch (error) {
      this.fault = error
    }
  }

  /** The message below this first line, in shared memory, so that the store thread needs no copy. */
  finish(trace: Uint8Array): Uint8Array {
    const whole = joinShared([trace, ...this.#pieces])
    this.#pieces = []
    return whole
  }

  /** Releases the memory. */
  drop(): void {
    this.#memory.giveBack(this.#held)
    this.#pieces = []
    this.#held = 0
  }
}
