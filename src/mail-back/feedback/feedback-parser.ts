import { SternaError } from '../../platform/errors.ts'
import { UntrustedReader } from '../../platform/untrusted-reader.ts'
import type { Feedback, ProvenRecipient } from '../../mail/bounce-parser/feedback.ts'

export interface FeedbackParser {
  /**
   * What a returned message means. `about`: the recipient that the address it came to proves, or null. Rejects with `invalid_message` if
   * the message exceeds the limits of size, time or memory. That does not affect the messages waiting behind it.
   */
  parse(document: Uint8Array, about?: ProvenRecipient | null): Promise<Feedback>
  /** Ends the child process. Rejects what is waiting with `service_unavailable`. */
  stop(): Promise<void>
}

/** bytes; the return-path server accepts far less */
const maxDocumentBytes = 32 * 1024 * 1024

/** Per message. */
const limits = { timeoutMs: 2000, maxOldSpaceMb: 128 }

/** Starts the child process with the first message. */
export function startFeedbackParser(): FeedbackParser {
  const child = new URL('./feedback-parser-process.ts', import.meta.url)
  const reader = new UntrustedReader<ProvenRecipient | null, Feedback>({ child, ...limits })
  return {
    async parse(document, about = null) {
      const reading = document.length > maxDocumentBytes ? null : await reader.read(async () => [document], about)
      if (!reading) throw new SternaError('invalid_message', 'The message is too large to parse.')
      return reading.answer
    },
    stop: () => reader.stop(),
  }
}
