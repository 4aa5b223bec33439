import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'

/** What a link to unsubscribe says: who no longer wants which of whose mail. */
export interface UnsubscribeTarget {
  accountId: string
  /** The message that the link came with; it may be gone by now. */
  messageId: string
  sandbox: boolean
  address: string
  /** '' where the mail has no topic. */
  topic: string
}

/** 32 bytes each. */
interface UnsubscribeKeys {
  sealing: Uint8Array
  nonce: Uint8Array
}

/** What a link is made with. */
export interface UnsubscribeFrame {
  keys: UnsubscribeKeys
  /** Where this server is reached from outside, without a final slash. */
  baseUrl: string
}

/** @param deriveKey gives 32 bytes that are always the same for a purpose */
export const unsubscribeKeys = (deriveKey: (purpose: string) => Buffer): UnsubscribeKeys => ({
  sealing: deriveKey('unsubscribe link'),
  nonce: deriveKey('unsubscribe link nonce'),
})

/** The link for one recipient of one message: the same wherever and however often it is made. */
export const unsubscribeUrl = (target: UnsubscribeTarget, { keys, baseUrl }: UnsubscribeFrame): string =>
  `${baseUrl}/u/${new UnsubscribeTokens(keys).encode(target)}`

const nonceBytes = 12
const tagBytes = 16
const version = '1'
/** characters; the longest address and topic make fewer */
const longestToken = 1000

/**
 * Tokens in links to unsubscribe, sealed (AES-256-GCM), so that nobody can make one, change one or read an address out of
 * one. They carry all that is needed and need no row: a link works for as long as the key file is the same. The nonce is an
 * HMAC of the content, so that the same message has the same link at every attempt.
 */
export class UnsubscribeTokens {
  readonly #keys: UnsubscribeKeys

  constructor(keys: UnsubscribeKeys) {
    this.#keys = keys
  }

  encode({ accountId, messageId, sandbox, address, topic }: UnsubscribeTarget): string {
    const plain = [version, accountId, messageId, sandbox ? '1' : '0', topic, address].join(' ')
    const nonce = createHmac('sha256', this.#keys.nonce).update(plain).digest().subarray(0, nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.sealing, nonce)
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url')
  }

  /** Null where it is none of ours. */
  decode(token: string): UnsubscribeTarget | null {
    if (token.length > longestToken || !/^[\w-]+$/.test(token)) return null
    const bytes = Buffer.from(token, 'base64url')
    // Another spelling of the same bytes is not the one that we made.
    if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== token) return null
    const plain = this.#open(bytes)
    if (plain === null) return null
    const [, accountId = '', messageId = '', sandbox, topic = '', ...address] = plain.split(' ')
    return { accountId, messageId, sandbox: sandbox === '1', topic, address: address.join(' ') }
  }

  #open(bytes: Buffer): string | null {
    const decipher = createDecipheriv('aes-256-gcm', this.#keys.sealing, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    try {
      return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      // The tag does not fit.
      return null
    }
  }
}
