/** How quickly content must come in. */
interface Rate {
  bytesPerSecond: number
  /** How long nothing may come in, where it was quick enough before, ms. */
  patienceMs: number
}

/** A connection on which bodies or messages come in. */
export interface Sender {
  /** Bytes that have come in so far, of whatever kind. */
  received(): number
  /** `sending`: more of one is to come; `waiting`: it is we who keep the client waiting; `idle`: there is none. */
  state(): 'sending' | 'waiting' | 'idle'
  /** It was quick enough since the last look, or waits for us. */
  progress(): void
  /** It was too slow for too long; nothing more is heard of it. */
  tooSlow(): void
}

interface Watched {
  sender: Sender
  receivedBefore: number
  /** How long it may still send nothing, ms. */
  creditMs: number
}

/** A line that is slower is a fault, or an attack: modems of 1990 were quicker. */
const standardRate = 1_000
/** How often senders are looked at, ms. */
const lookMs = 2_000
/** Senders that are told in one turn of the event loop: thousands may have begun together. */
const toldAtOnce = 20

/**
 * Tells senders that are too slow: each may send nothing for a while, which it regains by being quicker than it must. What
 * goes by while it waits for us is not counted.
 */
export class MinimumRate {
  readonly #rate: Rate
  readonly #steady: () => number
  readonly #watched = new Set<Watched>()
  /** Those that are too slow, and are to be told. */
  readonly #slow: Watched[] = []
  #timer: NodeJS.Timeout | undefined
  #lookedAt = 0

  /** @param steady ms, on a clock that does not go back */
  constructor(steady: () => number, { patienceMs, bytesPerSecond = standardRate }: Pick<Rate, 'patienceMs'> & Partial<Rate>) {
    this.#steady = steady
    this.#rate = { patienceMs, bytesPerSecond }
  }

  /** Watches a connection until it is too slow, or until the function is called that this gives. */
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
    // Where this process was held up, what has come in meanwhile is not read yet.
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

/** How long, ms, a sender may send nothing after it has sent so many bytes in so long a time; below 0: it was too slow. */
export const creditAfter = (creditMs: number, { passedMs, bytes }: { passedMs: number; bytes: number }, rate: Rate): number =>
  Math.min(rate.patienceMs, creditMs - passedMs + (bytes * 1000) / rate.bytesPerSecond)
