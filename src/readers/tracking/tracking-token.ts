import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto'
import { base32, bytesOfBase32, bytesOfId, idOfBytes } from '../../platform/id.ts'

/** 32 bytes each. */
export interface TrackingKeys {
  /** Authenticates tokens, and gives each its nonce. */
  mac: Uint8Array
  /** Encrypts their content. */
  cipher: Uint8Array
}

/** @param deriveKey gives 32 bytes that are always the same for one purpose */
export const trackingKeys = (deriveKey: (purpose: string) => Buffer): TrackingKeys => ({
  mac: deriveKey('tracking token'),
  cipher: deriveKey('tracking cipher'),
})

/** What a recipient's token says. */
export interface TrackedRecipient {
  /** `rcp_…` */
  recipientId: string
  /** Distinguishes the recipient's message from others; seals the links of that message. */
  messageTag: Buffer
}

/** characters of a recipient's token */
export const recipientTokenLength = 48
const idBytes = 16
const tagBytes = 4
/** 80 bits */
const sivBytes = 10
const noIv = Buffer.alloc(16 - sivBytes)

/** What represents a message. */
export interface MessageMark {
  /** The message as its tokens name it. */
  tag: Buffer
  /** The placeholder for each recipient's token in the message. Nobody who has not seen the message can guess it. */
  placeholder: string
}

export function markOf(messageId: string, { mac }: TrackingKeys): MessageMark {
  const bytes = createHmac('sha512', mac).update(`message ${messageId}`).digest()
  return { tag: bytes.subarray(0, tagBytes), placeholder: base32(bytes.subarray(tagBytes, tagBytes + (recipientTokenLength * 5) / 8)) }
}

/**
 * A recipient's token, which makes an open or a click theirs: 48 lower-case letters and digits, so it can replace a placeholder of the same
 * length anywhere. Recipient and message are encrypted and authenticated together (a synthetic IV, RFC 5297 in small); a recipient has the
 * same token at every attempt.
 */
export function recipientToken({ recipientId, messageTag }: TrackedRecipient, keys: TrackingKeys): string {
  const plain = Buffer.concat([bytesOfId(recipientId), messageTag])
  const siv = macOf(plain, keys)
  return base32(Buffer.concat([siv, createCipheriv('aes-256-ctr', keys.cipher, Buffer.concat([siv, noIv])).update(plain)]))
}

/** What the token says; null if we did not make it. Needs no look-up. */
export function readRecipientToken(token: string, keys: TrackingKeys): TrackedRecipient | null {
  const bytes = token.length === recipientTokenLength ? bytesOfBase32(token) : null
  if (!bytes) return null
  const siv = bytes.subarray(0, sivBytes)
  const plain = createDecipheriv('aes-256-ctr', keys.cipher, Buffer.concat([siv, noIv])).update(bytes.subarray(sivBytes))
  if (!timingSafeEqual(siv, macOf(plain, keys))) return null
  return { recipientId: idOfBytes('rcp', plain.subarray(0, idBytes)), messageTag: plain.subarray(idBytes) }
}

const macOf = (plain: Uint8Array, { mac }: TrackingKeys): Buffer => createHmac('sha256', mac).update(plain).digest().subarray(0, sivBytes)
