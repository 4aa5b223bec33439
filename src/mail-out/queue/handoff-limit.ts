import type { Loan } from '../../platform/memory-pool.ts'

/** How much accepted mail may continue in memory at a time. */
const maxMessages = 64
const maxBytes = 16 * 1024 * 1024
/** How long a submitter waits for room, ms. */
const holdMs = 50

/** Room for one message. Give it back once, when its recipients are settled or it could not be stored. */
export interface FreshSlot {
  /** The part of the message that is not sent along with its job; null again once the slot no longer counts. */
  content: Uint8Array | null
  /** What the message is in, if that is to be used again; null again once the slot no longer counts. */
  loan: Loan | null
  release(): void
}

interface Taken extends FreshSlot {
  bytes: number
  since: number
}

interface Waiting {
  bytes: number
  resolve: (slot: FreshSlot | null) => void
  timer: NodeJS.Timeout
}

/** Slots of mail that takes longer than this belong to slow destinations and no longer count. */
const slowAfterMs = 2_000
/** If no slot has become free for this long, waiting for one is pointless. */
const stalledAfterMs = 100

/**
 * Limits the mail that is passed from acceptance to delivery in memory. If acceptance outruns delivery, the submitter's answer is
 * delayed a little; beyond that, the message waits in the queue like any other.
 */
export class HandoffLimit {
  readonly #taken = new Set<Taken>()
  readonly #waiting: Waiting[] = []
  #bytes = 0
  #lastFreedAt = 0

  /** A slot, at once or within the hold time; null if none is available. */
  take(bytes: number): FreshSlot | null | Promise<FreshSlot | null> {
    this.#forgetSlow()
    if (this.#waiting.length === 0 && this.#fits(bytes)) return this.#slot(bytes)
    if (bytes > maxBytes || performance.now() - this.#lastFreedAt > stalledAfterMs) return null
    return new Promise((resolve) => {
      const waiting: Waiting = { bytes, resolve, timer: setTimeout(() => this.#giveUp(waiting), holdMs) }
      this.#waiting.push(waiting)
    })
  }

  #fits(bytes: number): boolean {
    return this.#taken.size < maxMessages && this.#bytes + bytes <= maxBytes
  }

  #slot(bytes: number): FreshSlot {
    const taken: Taken = { bytes, since: performance.now(), content: null, loan: null, release: () => this.#release(taken) }
    this.#taken.add(taken)
    this.#bytes += bytes
    return taken
  }

  #release(taken: Taken): void {
    this.#lastFreedAt = performance.now()
    if (!this.#taken.delete(taken)) return
    this.#bytes -= taken.bytes
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      clearTimeout(next.timer)
      next.resolve(this.#slot(next.bytes))
    }
  }

  #forgetSlow(): void {
    for (const taken of this.#taken) {
      if (performance.now() - taken.since < slowAfterMs) return
      this.#taken.delete(taken)
      this.#bytes -= taken.bytes
      taken.content = null
      taken.loan = null
    }
  }

  #giveUp(waiting: Waiting): void {
    const place = this.#waiting.indexOf(waiting)
    if (place >= 0) this.#waiting.splice(place, 1)
    waiting.resolve(null)
  }
}
