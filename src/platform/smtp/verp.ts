import { createHmac, timingSafeEqual } from 'node:crypto'
import { base32, inBase32, numberOf } from '../id.ts'

/**
 * The purpose of a token: `bounce` is the local part of a recipient's reverse-path, `reference` is in a header field that complaints
 * return, `unsubscribe` is the local part of the unsubscribe address.
 */
export type TokenPurpose = 'bounce' | 'reference' | 'unsubscribe'

interface TokenParts {
  /** `rcp_…` */
  recipientId: string
  /**
   * When the message was first due, epoch ms. Not the time of the attempt, because a retry must have the same reverse-path (greylisting).
   */
  firstDueAt: number
}

interface DecodedToken {
  purpose: TokenPurpose
  /** `rcp_…` */
  recipientId: string
  isExpired: boolean
}

const dayMs = 86_400_000
const letters: Record<TokenPurpose, string> = { bounce: 'b', reference: 'r', unsubscribe: 'u' }
const purposes: Record<string, TokenPurpose> = { b: 'bounce', r: 'reference', u: 'unsubscribe' }
/**
 * Days that a token is valid. Bounces arrive within days. Complaints and unsubscribe mail may come as long as somebody has the message, but
 * recipients are stored for only 90 days.
 */
const lifetimeDays: Record<TokenPurpose, number> = { bounce: 30, reference: 90, unsubscribe: 90 }
/** bytes of the HMAC in a token: 80 bits */
const macSize = 10
const form = /^[bru][0-9a-hjkmnp-tv-z]{46}$/

/**
 * A recipient's token: a letter for the purpose, the recipient id (26), the day of expiry (4), and an HMAC of these (16). It has 47
 * lower-case letters and digits, so it survives every system that a bounce passes through. Each token is valid for one purpose.
 */
export function encodeToken(purpose: TokenPurpose, { recipientId, firstDueAt }: TokenParts, key: Buffer): string {
  const day = Math.floor(firstDueAt / dayMs) + lifetimeDays[purpose]
  const signed = `${letters[purpose]}${recipientId.slice(recipientId.indexOf('_') + 1)}${inBase32(day, 4)}`
  return signed + macOf(signed, key)
}

/**
 * What the token says; null if we did not make it. Needs no look-up. The caller must check purpose and expiry.
 * @param now epoch, ms
 */
export function decodeToken(text: string, key: Buffer, now: number): DecodedToken | null {
  // Some systems change the case in bounces.
  const token = text.toLowerCase()
  const purpose = form.test(token) ? purposes[token.charAt(0)] : undefined
  if (!purpose) return null
  const signed = token.slice(0, 31)
  if (!timingSafeEqual(Buffer.from(token.slice(31)), Buffer.from(macOf(signed, key)))) return null
  const day = numberOf(signed.slice(27))
  return { purpose, recipientId: `rcp_${signed.slice(1, 27)}`, isExpired: now >= (day + 1) * dayMs }
}

function macOf(signed: string, key: Buffer): string {
  const mac = createHmac('sha256', key).update(signed).digest()
  return base32(mac.subarray(0, macSize))
}
