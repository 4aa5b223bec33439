import { createHmac, timingSafeEqual } from 'node:crypto'

interface VerpParts {
  /** `rcp_…` */
  recipientId: string
  /** When the message was accepted, epoch ms. Not the attempt: a retry must come from the same address (greylisting). */
  createdAt: number
}

/** The alphabet of ids: Crockford's base 32 in lower case. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const dayMs = 86_400_000
/** For how many days after a message was accepted a report on it is taken. */
const lifetimeDays = 30
/** bytes of the HMAC that are kept: 80 bits */
const macSize = 10
const form = /^b[0-9a-hjkmnp-tv-z]{46}$/

/**
 * The local part of a recipient's own reverse-path: `b`, the recipient id (26), the day of expiry (4), an HMAC (16).
 * Lower-case letters and digits only, 47 in all, so that it survives every system that a report passes through.
 */
export function encodeVerp({ recipientId, createdAt }: VerpParts, key: Buffer): string {
  const day = Math.floor(createdAt / dayMs) + lifetimeDays
  const signed = `b${recipientId.slice(recipientId.indexOf('_') + 1)}${base32(day, 4)}`
  return signed + macOf(signed, key)
}

/**
 * The id of the recipient that a report to this local part is about; null where we did not make it, or where its time
 * is over. Needs no look-up.
 * @param now epoch, ms
 */
export function decodeVerp(localPart: string, key: Buffer, now: number): string | null {
  // Some systems change the case of what they report to.
  const text = localPart.toLowerCase()
  if (!form.test(text)) return null
  const signed = text.slice(0, 31)
  if (!timingSafeEqual(Buffer.from(text.slice(31)), Buffer.from(macOf(signed, key)))) return null
  let day = 0
  for (const letter of signed.slice(27)) day = day * 32 + alphabet.indexOf(letter)
  return now < (day + 1) * dayMs ? `rcp_${signed.slice(1, 27)}` : null
}

function macOf(signed: string, key: Buffer): string {
  const mac = createHmac('sha256', key).update(signed).digest()
  return base32(mac.readUIntBE(0, macSize / 2), 8) + base32(mac.readUIntBE(macSize / 2, macSize / 2), 8)
}

function base32(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text
  return text
}
