import type { ContentSupply } from '../delivery/attempt.ts'
import { ByteBudget, fits } from './byte-budget.ts'

/** Messages and their memory, bytes. Small ones have room of their own, so they never wait for large ones. */
const smallMessage = 1024 * 1024
const smallRoom = 16 * 1024 * 1024
const largeRoom = 48 * 1024 * 1024
/** How much content read on request one destination may have in progress, bytes; a single larger message is allowed. */
const destinationShare = 16 * 1024 * 1024
/** How long a host that answered 354 may be kept waiting for the message, ms. */
const waitMs = 30_000
/** Content sent along with its job, bytes: requesting it would cost more than the memory it takes. */
const alongMessage = 16 * 1024

/** The content of a message: `along` with the job if it is small, else null. */
export interface QueuedContent {
  size: number
  along: Uint8Array | null
  read(): Promise<Uint8Array>
}

/** True if content is sent along with the job. */
export const fitsInJob = (bytes: number): boolean => bytes <= alongMessage

interface Waiting {
  destination: string
  bytes: number
  enter: (isIn: boolean) => void
  timer: NodeJS.Timeout
}

/**
 * Lets content into memory only up to a limit, in the order of the calls; one larger than the limit gets in alone. One destination gets
 * at most half, so that a host that requests content and does not take it leaves room for the others.
 */
class Lane {
  readonly #limit: number
  readonly #waiting: Waiting[] = []
  readonly #usedBy = new Map<string, number>()
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** False if there was no room in time; otherwise give the bytes back. */
  async take(destination: string, bytes: number): Promise<boolean> {
    return new Promise((enter) => {
      const waiting: Waiting = { destination, bytes, enter, timer: setTimeout(() => this.#giveUp(waiting), waitMs).unref() }
      this.#waiting.push(waiting)
      this.#letIn()
    })
  }

  giveBack(destination: string, bytes: number): void {
    this.#count(destination, -bytes)
    this.#letIn()
  }

  #letIn(): void {
    for (let at = 0; at < this.#waiting.length;) {
      const next = this.#waiting[at] as Waiting
      if (!fits(this.#usedBy.get(next.destination) ?? 0, next.bytes, this.#limit / 2)) {
        at++
        continue
      }
      if (!fits(this.#used, next.bytes, this.#limit)) return
      this.#waiting.splice(at, 1)
      clearTimeout(next.timer)
      this.#count(next.destination, next.bytes)
      next.enter(true)
    }
  }

  #giveUp(waiting: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
    waiting.enter(false)
    this.#letIn()
  }

  #count(destination: string, change: number): void {
    this.#used += change
    const used = (this.#usedBy.get(destination) ?? 0) + change
    if (used === 0) this.#usedBy.delete(destination)
    else this.#usedBy.set(destination, used)
  }
}

/**
 * Memory for content that is read when a host is ready for it. A host that hangs before that holds none, and a host that hangs later
 * holds only a part of it.
 */
export class ContentBudget {
  readonly #small = new Lane(smallRoom)
  readonly #large = new Lane(largeRoom)
  /** The content of each destination in progress. */
  readonly #shares = new Map<string, ByteBudget>()

  /** Runs the work once the destination's share has room for the message. */
  async inTurn(destination: string, bytes: number, work: () => Promise<void>): Promise<void> {
    if (fitsInJob(bytes)) return work()
    const share = this.#shares.get(destination) ?? new ByteBudget(destinationShare)
    this.#shares.set(destination, share)
    await share.take(bytes)
    try {
      await work()
    } finally {
      share.giveBack(bytes)
      if (share.isIdle) this.#shares.delete(destination)
    }
  }

  /** Where one job gets its content. End it with the job. */
  supply(destination: string, { size, read }: QueuedContent): ContentSupply & { end(): void } {
    const lane = size <= smallMessage ? this.#small : this.#large
    let isHeld = false
    let isEnded = false
    const giveBack = (): void => {
      if (isHeld) lane.giveBack(destination, size)
      isHeld = false
    }
    return {
      async take() {
        if (isEnded || isHeld || !(await lane.take(destination, size))) return null
        isHeld = true
        try {
          const content = isEnded ? null : await read()
          if (isEnded) giveBack()
          return content
        } catch (error) {
          giveBack()
          throw error
        }
      },
      giveBack,
      end() {
        isEnded = true
        giveBack()
      },
    }
  }
}
