import { readByAny } from '../../platform/key-generations.ts'
import { decodeToken, type TokenPurpose } from '../../platform/smtp/verp.ts'
import type { Feedback } from '../../mail/bounce-parser/feedback.ts'
import type { ReturnedMail } from './returned-mail-store.ts'

/**
 * The recipient that a returned message is proved to be about, and by what. `envelope`: by the reverse-path alone, which every host on the
 * way has seen. `message`: by a token inside the message, so the reporter has received it.
 */
export interface RecipientProof {
  /** `rcp_…` */
  recipientId: string
  by: 'envelope' | 'message'
}

/** Why there is no proof: no token, an expired token, or tokens of different recipients. */
type Unproven = 'no_token' | 'expired_token' | 'other_recipient'

/**
 * Looks for a proof: in the address that the message came to, and in the tokens that the returned original contains. Plain addresses prove
 * nothing. Tokens are judged at the time of arrival, so waiting does not change the result.
 */
export function proofOf(
  { recipientId, receivedAt }: Pick<ReturnedMail, 'recipientId' | 'receivedAt'>,
  original: Feedback['original'],
  keys: readonly Buffer[],
): RecipientProof | Unproven {
  // A token counts only for its purpose. Hosts that never saw the message may know its reverse-path.
  const tokenIn = (text: string | null, purpose: TokenPurpose) => {
    const token = text === null ? null : readByAny(keys, (key) => decodeToken(localPartOf(text), key, receivedAt))
    return token?.purpose === purpose ? token : null
  }
  // We always write the reference. List-Unsubscribe may be the sender's own, who could put another
  // recipient's token there to make complaints fail.
  const inMessage = [tokenIn(original.reference, 'reference') ?? tokenIn(original.unsubscribe, 'unsubscribe')].filter(
    (token) => token !== null,
  )
  const reversePath = tokenIn(original.reversePath, 'bounce')
  const found = reversePath === null ? inMessage : [...inMessage, reversePath]
  // A token of another recipient is a contradiction even if it has expired.
  const named = new Set([...(recipientId === null ? [] : [recipientId]), ...found.map((token) => token.recipientId)])
  const [about, another] = named
  if (about === undefined) return 'no_token'
  if (another !== undefined) return 'other_recipient'
  if (inMessage.some(({ isExpired }) => !isExpired)) return { recipientId: about, by: 'message' }
  return recipientId !== null || reversePath?.isExpired === false ? { recipientId: about, by: 'envelope' } : 'expired_token'
}

/** The text is a token, or an address with a token as its local part. */
const localPartOf = (text: string): string => text.trim().replace(/^</, '').split('@')[0]?.replace(/>$/, '') ?? ''
