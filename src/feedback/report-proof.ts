import { readToken } from '../smtp/verp.ts'
import type { FeedbackReport } from './feedback-report.ts'

/**
 * Which recipient a report proves to be about, and by what. `envelope`: by the reverse-path alone, which every host on
 * the way has seen. `message`: by a token that stands in the message, so whoever reports has had it before him.
 */
export interface ReportProof {
  /** `rcp_…` */
  recipientId: string
  by: 'envelope' | 'message'
}

/** Why a report proves nothing: there is no token in it, its time is over, or its tokens are of different recipients. */
export type Unproven = 'no_token' | 'expired_token' | 'other_recipient'

interface Arrival {
  /** The recipient that the address is of which the report came to; null at an address for all. */
  recipientId: string | null
  /** Epoch, ms. */
  receivedAt: number
}

/**
 * Looks for the proof: the address that the report came to, and the tokens that it brings back of the message it is
 * about. Addresses of people are no proof. Time is that of arrival, so that a report which waited is judged the same.
 */
export function proofOf({ recipientId, receivedAt }: Arrival, original: FeedbackReport['original'], key: Buffer): ReportProof | Unproven {
  const reference = tokenIn(original.reference, key, receivedAt)
  // A token of some other recipient that is expired contradicts all the same.
  if (recipientId !== null && reference !== null && reference.recipientId !== recipientId) return 'other_recipient'
  if (recipientId !== null) return { recipientId, by: reference?.isExpired === false ? 'message' : 'envelope' }
  const reversePath = tokenIn(original.reversePath, key, receivedAt)
  const found = reference ?? reversePath
  if (found === null) return 'no_token'
  if (reference !== null && reversePath !== null && reference.recipientId !== reversePath.recipientId) return 'other_recipient'
  if (found.isExpired) return 'expired_token'
  return { recipientId: found.recipientId, by: reference === null ? 'envelope' : 'message' }
}

/** A token, or an address whose local part is one. */
function tokenIn(text: string | null, key: Buffer, now: number) {
  if (text === null) return null
  const [localPart = ''] = text.trim().replace(/^</, '').split('@')
  return readToken(localPart.replace(/>$/, ''), key, now)
}
