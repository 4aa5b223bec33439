import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'

/** What an unsubscribe link says: who no longer wants which mail, and from whom. */
export interface UnsubscribeTarget {
  accountId: string
  /** The message that carried the link; it may be gone by now. */
  messageId: string
  sandbox: boolean
  address: string
  /** '' if the mail has no topic. */
  topic: string
}

/** 32 bytes each. */
export interface UnsubscribeKeys {
  sealing: Uint8Array
  nonce: Uint8Array
}

/** What a link is made with. */
export interface UnsubscribeContext {
  keys: UnsubscribeKeys
  /** This server's URL for the outside, without a final slash. */
  baseUrl: string
}

/** @param deriveKey gives 32 bytes that are always the same for a purpose */
export const unsubscribeKeys = (deriveKey: (purpose: string) => Buffer): UnsubscribeKeys => ({
  sealing: deriveKey('unsubscribe link'),
  nonce: deriveKey('unsubscribe link nonce'),
})

/** The link for one recipient of one message: the same wherever and however often it is made. */
export const unsubscribeUrl = (target: UnsubscribeTarget, { keys, baseUrl }: UnsubscribeContext): string =>
  `${baseUrl}/u/${encodeUnsubscribeToken(target, keys)}`

const nonceBytes = 12
const tagBytes = 16
const version = '1'
/** characters; the longest address and topic make fewer */
const longestToken = 1000

/**
 * The token of an unsubscribe link, sealed (AES-256-GCM), so that nobody can create or change one, or read an address from one. It contains
 * everything needed and has no row: a link works as long as the key file is the same. The nonce is an HMAC of the content, so a message has
 * the same link at every attempt.
 */
export function encodeUnsubscribeToken(
  { accountId, messageId, sandbox, address, topic }: UnsubscribeTarget,
  keys: UnsubscribeKeys,
): string {
  const plain = [version, accountId, messageId, sandbox ? '1' : '0', topic, address].join(' ')
  const nonce = createHmac('sha256', keys.nonce).update(plain).digest().subarray(0, nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', keys.sealing, nonce)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

/** What the token says; null if it is not ours. */
export function decodeUnsubscribeToken(token: string, keys: UnsubscribeKeys): UnsubscribeTarget | null {
  if (token.length > longestToken || !/^[\w-]+$/.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  // Another spelling of the same bytes is not one that we made.
  if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== token) return null
  const plain = opened(bytes, keys)
  if (plain === null) return null
  const [, accountId = '', messageId = '', sandbox, topic = '', ...address] = plain.split(' ')
  return { accountId, messageId, sandbox: sandbox === '1', topic, address: address.join(' ') }
}

function opened(bytes: Buffer, { sealing }: UnsubscribeKeys): string | null {
  const decipher = createDecipheriv('aes-256-gcm', sealing, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    // The tag does not match.
    return null
  }
}
