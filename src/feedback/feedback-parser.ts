import { SternaError } from '../errors.ts'
import { UntrustedReader } from '../untrusted-reader.ts'
import type { Feedback, ProvenRecipient } from '../bounce-parser/feedback.ts'

export interface FeedbackParser {
  /**
   * What a returned message means. `about`: the recipient that the address it was sent to proves; null where that proves nothing.
   * Rejects with `invalid_message` where it cannot be read within the limits of size, time and memory; messages that wait behind it are
   * not affected.
   */
  parse(document: Uint8Array, about?: ProvenRecipient | null): Promise<Feedback>
  /** Ends the parser; what waits is rejected with `service_unavailable`. */
  stop(): Promise<void>
}

/** bytes; what the return-path server takes is far below */
const largestDocument = 32 * 1024 * 1024

/** Of one message. */
const limits = { timeoutMs: 2000, maxOldSpaceMb: 128 }

/** Starts nothing until the first message comes. */
export function startFeedbackParser(): FeedbackParser {
  const child = new URL('./feedback-parser-process.ts', import.meta.url)
  const reader = new UntrustedReader<ProvenRecipient | null, Feedback>({ child, ...limits })
  return {
    async parse(document, about = null) {
      const reading = document.length > largestDocument ? null : await reader.read(async () => [document], about)
      if (!reading) throw new SternaError('invalid_message', 'It is too large to be read.')
      return reading.answer
    },
    stop: () => reader.stop(),
  }
}
