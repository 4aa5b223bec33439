import { decodeToken, type TokenPurpose } from '../smtp/verp.ts'
import type { Feedback } from '../bounce-parser/feedback.ts'
import type { ReturnedMail } from './returned-mail-store.ts'

/**
 * Which recipient a report proves to be about, and by what. `envelope`: by the reverse-path alone, which every host on
 * the way has seen. `message`: by a token that stands in the message, so whoever reports has had it before him.
 */
export interface RecipientProof {
  /** `rcp_…` */
  recipientId: string
  by: 'envelope' | 'message'
}

/** Why a report proves nothing: there is no token in it, its time is over, or its tokens are of different recipients. */
type Unproven = 'no_token' | 'expired_token' | 'other_recipient'

/**
 * Looks for the proof: the address that the report came to, and the tokens that it brings back of the message it is
 * about. Addresses of people are no proof. Time is that of arrival, so that a report which waited is judged the same.
 */
export function proofOf(
  { recipientId, receivedAt }: Pick<ReturnedMail, 'recipientId' | 'receivedAt'>,
  original: Feedback['original'],
  key: Buffer,
): RecipientProof | Unproven {
  // One that is for something else proves nothing here: of the reverse-path, hosts know it that never saw the message.
  const tokenIn = (text: string | null, purpose: TokenPurpose) => {
    const token = text === null ? null : decodeToken(localPartOf(text), key, receivedAt)
    return token?.purpose === purpose ? token : null
  }
  // The reference is always ours. List-Unsubscribe may be the sender's own, who could put the token of somebody else there so
  // that no complaint about his mail counts.
  const inMessage = [tokenIn(original.reference, 'reference') ?? tokenIn(original.unsubscribe, 'unsubscribe')].filter(
    (token) => token !== null,
  )
  const reversePath = tokenIn(original.reversePath, 'bounce')
  const found = reversePath === null ? inMessage : [...inMessage, reversePath]
  // A token of some other recipient contradicts, be its time over or not.
  const named = new Set([...(recipientId === null ? [] : [recipientId]), ...found.map((token) => token.recipientId)])
  const [about, another] = named
  if (about === undefined) return 'no_token'
  if (another !== undefined) return 'other_recipient'
  if (inMessage.some(({ isExpired }) => !isExpired)) return { recipientId: about, by: 'message' }
  return recipientId !== null || reversePath?.isExpired === false ? { recipientId: about, by: 'envelope' } : 'expired_token'
}

/** Of a token, or of an address whose local part is one. */
const localPartOf = (text: string): string => text.trim().replace(/^</, '').split('@')[0]?.replace(/>$/, '') ?? ''
