/** How fast content must arrive. */
interface Rate {
  bytesPerSecond: number
  /** How long a stall may last if content arrived fast enough before, ms. */
  patienceMs: number
}

/** A connection on which bodies or messages arrive. */
export interface Sender {
  /** Bytes that have arrived so far, of any kind. */
  received(): number
  /** `sending`: more is expected; `waiting`: we keep the client waiting; `idle`: nothing is expected. */
  state(): 'sending' | 'waiting' | 'idle'
  /** It was fast enough since the last check, or waits for us. */
  progress(): void
  /** It was too slow for too long and is dropped. */
  tooSlow(): void
}

interface Watched {
  sender: Sender
  receivedBefore: number
  /** How long it may still stall, ms. */
  creditMs: number
}

/** A slower line is broken, or an attack: modems of 1990 were faster. */
const standardRate = 1_000
/** ms between checks */
const lookMs = 2_000
/** Senders to drop per turn of the event loop, because thousands may have begun together. */
const toldAtOnce = 20

/**
 * Drops senders that are too slow: each may stall for a while, and regains that time by sending faster than it must. Time that it waits for
 * us does not count.
 */
export class MinimumRate {
  readonly #rate: Rate
  readonly #steady: () => number
  readonly #watched = new Set<Watched>()
  /** Those that are too slow and must be dropped. */
  readonly #slow: Watched[] = []
  #timer: NodeJS.Timeout | undefined
  #lookedAt = 0

  /** @param steady ms, on a clock that does not go back */
  constructor(steady: () => number, { patienceMs, bytesPerSecond = standardRate }: Pick<Rate, 'patienceMs'> & Partial<Rate>) {
    this.#steady = steady
    this.#rate = { patienceMs, bytesPerSecond }
  }

  /** Watches a connection until it is too slow, or until the returned function is called. */
  watch(sender: Sender): () => void {
    const watched: Watched = { sender, receivedBefore: sender.received(), creditMs: this.#rate.patienceMs }
    this.#watched.add(watched)
    if (!this.#timer) {
      this.#lookedAt = this.#steady()
      this.#timer = setInterval(() => this.#look(), lookMs).unref()
    }
    return () => this.#watched.delete(watched)
  }

  #look(): void {
    // If this process was held up, it has not read what arrived meanwhile.
    const passedMs = Math.min(this.#steady() - this.#lookedAt, 2 * lookMs)
    this.#lookedAt = this.#steady()
    for (const watched of this.#watched) this.#judge(watched, passedMs)
    this.#tellSlow()
    if (this.#watched.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #judge(watched: Watched, passedMs: number): void {
    const { sender } = watched
    const received = sender.received()
    const bytes = received - watched.receivedBefore
    watched.receivedBefore = received
    const state = sender.state()
    if (state === 'idle') watched.creditMs = this.#rate.patienceMs
    if (state === 'waiting') sender.progress()
    if (state !== 'sending') return
    watched.creditMs = creditAfter(watched.creditMs, { passedMs, bytes }, this.#rate)
    if (watched.creditMs < 0) this.#slow.push(watched)
    else if (bytes * 1000 >= this.#rate.bytesPerSecond * passedMs) sender.progress()
  }

  #tellSlow(): void {
    for (const watched of this.#slow.splice(0, toldAtOnce)) if (this.#watched.delete(watched)) watched.sender.tooSlow()
    if (this.#slow.length > 0) setImmediate(() => this.#tellSlow())
  }
}

/** How long, ms, a sender may still stall after sending this many bytes in this time; below 0: it was too slow. */
export const creditAfter = (creditMs: number, { passedMs, bytes }: { passedMs: number; bytes: number }, rate: Rate): number =>
  Math.min(rate.patienceMs, creditMs - passedMs + (bytes * 1000) / rate.bytesPerSecond)
