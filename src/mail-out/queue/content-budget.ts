import type { ContentSupply } from '../delivery/attempt.ts'
import { ByteBudget } from '../../platform/byte-budget.ts'

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
  /** Called for each job that has ended, unless it is certain that nothing reads what it took any more. */
  onMayBeRead?(): void
}

/** True if content is sent along with the job. */
export const fitsInJob = (bytes: number): boolean => bytes <= alongMessage

/** Where a job gets content that goes along with it: it asks for none. */
const nothing: ContentSupply & { end(): void } = { take: () => Promise.resolve(null), giveBack() {}, noteUnread() {}, end() {} }

/** One destination gets at most half, so that a host that requests content and does not take it leaves room for the others. */
const heldContent = (limit: number): ByteBudget => new ByteBudget({ limit, share: limit / 2, waitMs })

/**
 * Memory for content that is read when a host is ready for it. A host that hangs before that holds none, and a host that hangs later
 * holds only a part of it.
 */
export class ContentBudget {
  readonly #small = heldContent(smallRoom)
  readonly #large = heldContent(largeRoom)
  /** The content of each destination in progress. */
  readonly #inProgress = new ByteBudget({ share: destinationShare })

  /** Runs the work once the destination's share has room for the message. */
  async inTurn(destination: string, bytes: number, work: () => Promise<void>): Promise<void> {
    if (fitsInJob(bytes)) return work()
    await this.#inProgress.take(bytes, destination)
    try {
      await work()
    } finally {
      this.#inProgress.giveBack(bytes, destination)
    }
  }

  /** Where one job gets its content. End it with the job. */
  supply(destination: string, content: QueuedContent): ContentSupply & { end(): void } {
    const { size, along } = content
    if (along) return nothing
    const budget = size <= smallMessage ? this.#small : this.#large
    let isHeld = false
    let isEnded = false
    let isUnread = false
    const giveBack = (): void => {
      if (isHeld) budget.giveBack(size, destination)
      isHeld = false
    }
    return {
      async take() {
        if (isEnded || isHeld || !(await budget.take(size, destination))) return null
        isHeld = true
        try {
          const bytes = isEnded ? null : await content.read()
          if (isEnded) giveBack()
          return bytes
        } catch (error) {
          giveBack()
          throw error
        }
      },
      giveBack,
      noteUnread() {
        isUnread = true
      },
      end() {
        isEnded = true
        giveBack()
        if (!isUnread) content.onMayBeRead?.()
      },
    }
  }
}
