import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'

/** What an unsubscribe link contains: who unsubscribes, from which mail, of which account. */
export interface UnsubscribeTarget {
  accountId: string
  /** The message that carried the link; it may have been deleted. */
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
  /** This server's public URL, without a trailing slash. */
  baseUrl: string
}

/** @param deriveKey returns 32 bytes, always the same for the same purpose */
export const unsubscribeKeys = (deriveKey: (purpose: string) => Buffer): UnsubscribeKeys => ({
  sealing: deriveKey('unsubscribe link'),
  nonce: deriveKey('unsubscribe link nonce'),
})

/** The link for one recipient of one message. Always the same, however often it is made. */
export const unsubscribeUrl = (target: UnsubscribeTarget, { keys, baseUrl }: UnsubscribeContext): string =>
  `${baseUrl}/u/${encodeUnsubscribeToken(target, keys)}`

const nonceBytes = 12
const tagBytes = 16
const version = '1'
/** characters; the longest address and topic stay below it */
const maxTokenLength = 1000

/**
 * The encrypted token of an unsubscribe link (AES-256-GCM), so nobody can forge one or read an address from it. It contains everything
 * needed, without a row in the database: a link works as long as the key file stays the same. The nonce is an HMAC of the content, so a
 * message has the same link at every attempt.
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

/** What the token says; null if it is not valid. */
export function decodeUnsubscribeToken(token: string, keys: UnsubscribeKeys): UnsubscribeTarget | null {
  if (token.length > maxTokenLength || !/^[\w-]+$/.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  // A different encoding of the same bytes is not ours.
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
