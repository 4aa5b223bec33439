import type { ContentSupply } from '../delivery/attempt.ts'

/** Messages and their memory, bytes. What is small has room of its own, so that it never waits for what is large. */
const smallMessage = 1024 * 1024
const smallRoom = 16 * 1024 * 1024
const largeRoom = 48 * 1024 * 1024
/** What one destination may have under way of content that is read when it is asked for, bytes; or one message that is larger. */
const destinationShare = 16 * 1024 * 1024
/** How long a host that has said that it takes a message may be kept waiting for it, ms. */
const waitMs = 30_000
/** Content that goes along with its job, bytes: to ask for it would cost more than the memory that it takes. */
const alongMessage = 16 * 1024

/** The content of a message: `along` with the job where it is small, else null. */
export interface QueuedContent {
  size: number
  along: Uint8Array | null
  read(): Promise<Uint8Array>
}

/** True of content that is handed over with the job. */
export const goesAlong = (bytes: number): boolean => bytes <= alongMessage

interface Waiting {
  bytes: number
  enter: (isIn: boolean) => void
  timer: NodeJS.Timeout
}

/** Lets content into memory only up to a limit, in the order of the calls; one larger than the limit gets in alone. */
class Lane {
  readonly #limit: number
  readonly #waiting: Waiting[] = []
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** False where there was no room in time; else the bytes must be given back. */
  async take(bytes: number): Promise<boolean> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#used += bytes
      return true
    }
    return new Promise((enter) => {
      const waiting: Waiting = { bytes, enter, timer: setTimeout(() => this.#giveUp(waiting), waitMs).unref() }
      this.#waiting.push(waiting)
    })
  }

  giveBack(bytes: number): void {
    this.#used -= bytes
    this.#letIn()
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      clearTimeout(next.timer)
      this.#used += next.bytes
      next.enter(true)
    }
  }

  #giveUp(waiting: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
    waiting.enter(false)
    this.#letIn()
  }

  #fits(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#limit
  }
}

/** What one destination has under way, and what waits for its share. */
interface Share {
  bytes: number
  waiting: { bytes: number; enter: () => void }[]
}

/**
 * The memory for content that is read when a host is ready to take it. A host that hangs before that holds none, and the content
 * of one that hangs later is only a part of it.
 */
export class ContentRoom {
  readonly #small = new Lane(smallRoom)
  readonly #large = new Lane(largeRoom)
  readonly #shares = new Map<string, Share>()

  /** Does work with a message for a destination, after what the destination has under way leaves room for it in its share. */
  async inTurn(destination: string, bytes: number, work: () => Promise<void>): Promise<void> {
    if (goesAlong(bytes)) return work()
    await this.#enter(destination, bytes)
    try {
      await work()
    } finally {
      this.#leave(destination, bytes)
    }
  }

  /** What one job takes its content from. To be ended with the job. */
  supply({ size, read }: QueuedContent): ContentSupply & { end(): void } {
    const lane = size <= smallMessage ? this.#small : this.#large
    let isHeld = false
    let isEnded = false
    const giveBack = (): void => {
      if (isHeld) lane.giveBack(size)
      isHeld = false
    }
    return {
      async take() {
        if (isEnded || isHeld || !(await lane.take(size))) return null
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

  async #enter(destination: string, bytes: number): Promise<void> {
    let share = this.#shares.get(destination)
    if (!share) {
      share = { bytes: 0, waiting: [] }
      this.#shares.set(destination, share)
    }
    if (share.waiting.length === 0 && fits(share, bytes)) {
      share.bytes += bytes
      return
    }
    const { waiting } = share
    await new Promise<void>((enter) => waiting.push({ bytes, enter }))
  }

  #leave(destination: string, bytes: number): void {
    const share = this.#shares.get(destination) as Share
    share.bytes -= bytes
    for (let next = share.waiting[0]; next && fits(share, next.bytes); next = share.waiting[0]) {
      share.waiting.shift()
      share.bytes += next.bytes
      next.enter()
    }
    if (share.bytes === 0) this.#shares.delete(destination)
  }
}

const fits = (share: Share, bytes: number): boolean => share.bytes === 0 || share.bytes + bytes <= destinationShare
