import type { Statement } from '../../platform/store/database.ts'
import type { ReturnedMail } from './returned-mail-store.ts'
import type { returnedMailResults } from '../../platform/metrics/returned-mail-labels.ts'

/** What a returned message led to, in the words of the API. */
export type ReturnedMailResult = (typeof returnedMailResults)[number]

/** What to write for a returned message. Its own row is settled in the same batch. */
export interface ReturnedMailOutcome {
  result: ReturnedMailResult
  /** What the message says, as JSON; the shape depends on the purpose. Null if there is nothing to show. */
  summary: unknown
  /** What the message is proved to be about, if anything. */
  about: { accountId: string; messageId: string | null; recipientId: string | null } | null
  /** Written after the statement that settles the message. If one of them conflicts, the handler runs again. */
  statements: Statement[]
  /** True if the outcome may change soon. It is written if it has not changed after a few minutes. */
  isProvisional: boolean
}

/**
 * Decides what follows from a returned message. May be called again for the same message if the relay stopped before settling it, so other
 * effects must be idempotent.
 * @throws SternaError `invalid_message` if the message is unreadable; it is settled as `not_understood`
 */
export type ReturnedMailHandler = (mail: ReturnedMail, content: Uint8Array) => Promise<ReturnedMailOutcome>

/** An outcome that changes nothing. */
export const withoutEffect = (
  result: ReturnedMailResult,
  summary: unknown = null,
  about: ReturnedMailOutcome['about'] = null,
): ReturnedMailOutcome => ({
  result,
  summary,
  about,
  statements: [],
  isProvisional: false,
})
