import type { Statement } from '../store/database.ts'
import type { ReturnedMail } from './returned-mail-store.ts'
import type { ReturnedMailResult } from './returned-mail-result.ts'

/** What is to be written of a report; its own row is settled in the same batch. */
export interface ReturnedMailOutcome {
  result: ReturnedMailResult
  /** What the report says, in the shape of its purpose; JSON. Null where it says nothing that can be told. */
  summary: unknown
  /** Whom and what it is about, where that is proved. */
  about: { accountId: string; messageId: string | null; recipientId: string | null } | null
  /** Written with it, behind the statement that settles the report; a conflict in them brings the report back to its handler. */
  statements: Statement[]
  /** True where a look in a while may tell something else: this is written when nothing did for minutes. */
  isProvisional: boolean
}

/**
 * Says what follows of a report that came for one purpose. Called again where the relay stopped before it was settled,
 * so whatever it does besides must bear repetition.
 * @throws SternaError `invalid_message` where it cannot be read: it is kept as not understood
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
