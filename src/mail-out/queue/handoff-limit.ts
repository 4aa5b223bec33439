import type { CancelTimer, Clock } from '../../platform/clock.ts'
import type { Loan } from '../../platform/memory-pool.ts'

/** How much accepted mail may continue in memory at a time: for one destination, and for all. */
const maxMessagesEach = 64
const maxMessages = 2 * maxMessagesEach
const maxBytes = 16 * 1024 * 1024
/** Slots of mail that takes longer than this belong to slow destinations and no longer count, ms. */
const slowAfterMs = 2_000

/** Room for one message. Give it back once, when its recipients are settled or it could not be stored. */
export interface FreshSlot {
  /** The part of the message that is not sent along with its job; null again once the slot no longer counts. */
  content: Uint8Array | null
  /** What the message is in, if that is to be used again; null again once the slot no longer counts. */
  loan: Loan | null
  release(): void
}

interface Taken extends FreshSlot {
  line: Line
  bytes: number
  since: number
}

interface Waiting {
  bytes: number
  resolve: (slot: FreshSlot | null) => void
  cancelTimer: CancelTimer
}

/** The mail for one destination. That for several counts at the first. */
interface Line {
  name: string
  /** Slots. */
  taken: number
  /** Submitters, in turn. */
  waiting: Waiting[]
}

interface HandoffServices {
  clock: Clock
  /** False if newer mail for this destination must wait in the queue. */
  isReady(destination: string): boolean
}

/**
 * Limits the mail that is passed from acceptance to delivery in memory. A submitter may wait in line for room at the destination of its
 * mail; nobody waits for somebody else's destination.
 */
export class HandoffLimit {
  readonly #services: HandoffServices
  readonly #lines = new Map<string, Line>()
  readonly #taken = new Set<Taken>()
  #bytes = 0
  #waitingBytes = 0

  constructor(services: HandoffServices) {
    this.#services = services
  }

  /** A slot, if one is free and nobody is in line for it. */
  take(destination: string, bytes: number): FreshSlot | null {
    this.#forgetSlow()
    const line = this.#lineOf(destination)
    return line.waiting.length === 0 && this.#isReady(line) ? this.#slot(line, bytes) : null
  }

  /** A slot as soon as the destination is ready; null if it was not within so many ms, or if memory is full, which others may have done. */
  wait(destination: string, bytes: number, ms: number): Promise<FreshSlot | null> | null {
    const line = this.#lineOf(destination)
    if (this.#waitingBytes + bytes > maxBytes || this.#isReady(line)) return null
    const { clock } = this.#services
    return new Promise((resolve) => {
      const waiting: Waiting = { bytes, resolve, cancelTimer: clock.at(clock.now() + ms, () => this.#leave(line, waiting, null)) }
      line.waiting.push(waiting)
      this.#waitingBytes += bytes
      this.#lines.set(destination, line)
    })
  }

  /** How many submitters wait for room at this destination. */
  waitingFor(destination: string): number {
    return this.#lines.get(destination)?.waiting.length ?? 0
  }

  /** Call it when the destination may have become ready for those in line. */
  letIn(destination: string): void {
    const line = this.#lines.get(destination)
    for (let next = line?.waiting[0]; line && next && this.#isReady(line); next = line.waiting[0]) {
      this.#leave(line, next, this.#slot(line, next.bytes))
    }
  }

  #isReady({ name, taken }: Line): boolean {
    return taken < maxMessagesEach && this.#services.isReady(name)
  }

  #slot(line: Line, bytes: number): FreshSlot | null {
    if (this.#taken.size >= maxMessages || this.#bytes + bytes > maxBytes) return null
    const taken: Taken = {
      line,
      bytes,
      since: this.#services.clock.steady(),
      content: null,
      loan: null,
      release: () => this.#release(taken),
    }
    this.#taken.add(taken)
    this.#bytes += bytes
    if (line.taken++ === 0) this.#lines.set(line.name, line)
    return taken
  }

  #leave(line: Line, waiting: Waiting, slot: FreshSlot | null): void {
    line.waiting.splice(line.waiting.indexOf(waiting), 1)
    this.#waitingBytes -= waiting.bytes
    this.#dropIfEmpty(line)
    waiting.cancelTimer()
    waiting.resolve(slot)
  }

  #release(taken: Taken): void {
    if (!this.#taken.has(taken)) return
    this.#forget(taken)
    this.letIn(taken.line.name)
  }

  #forgetSlow(): void {
    for (const taken of this.#taken) {
      if (this.#services.clock.steady() - taken.since < slowAfterMs) return
      this.#forget(taken)
      taken.content = null
      taken.loan = null
    }
  }

  #forget(taken: Taken): void {
    this.#taken.delete(taken)
    this.#bytes -= taken.bytes
    taken.line.taken--
    this.#dropIfEmpty(taken.line)
  }

  #dropIfEmpty({ name, taken, waiting }: Line): void {
    if (taken === 0 && waiting.length === 0) this.#lines.delete(name)
  }

  #lineOf(destination: string): Line {
    return this.#lines.get(destination) ?? { name: destination, taken: 0, waiting: [] }
  }
}
