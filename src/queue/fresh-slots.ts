/** How much accepted mail goes on in memory at a time. */
const maxMessages = 64
const maxBytes = 16 * 1024 * 1024
/** How long a submitter is kept waiting for room, ms. */
const holdMs = 50

/** Room for one message; to be given back once, when its recipients are settled or it could not be stored. */
export interface FreshSlot {
  /** What of the message does not go along with its job; null again once the slot is counted no more. */
  content: Uint8Array | null
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
/** Where no slot became free for this long, waiting for one is vain. */
const stalledAfterMs = 100

/**
 * The bound on mail that is handed from acceptance to delivery in memory. Where acceptance outruns delivery, the
 * submitter's answer is held a little; beyond that the message waits in the queue like any other.
 */
export class FreshSlots {
  readonly #taken = new Set<Taken>()
  readonly #waiting: Waiting[] = []
  #bytes = 0
  #lastFreedAt = 0

  /** A slot, at once or within the hold time; null where there is none to be had. */
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
    const taken: Taken = { bytes, since: performance.now(), content: null, release: () => this.#release(taken) }
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
    }
  }

  #giveUp(waiting: Waiting): void {
    const place = this.#waiting.indexOf(waiting)
    if (place >= 0) this.#waiting.splice(place, 1)
    waiting.resolve(null)
  }
}
