import { createHash, createHmac, createPublicKey, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import { objectOf, textOf } from '../../platform/json-values.ts'

/** Mailgun tries for eight hours to hand over an event, ms. Older signatures, which do not cover the body, may be used by others. */
const mailgunWindowMs = 12 * 3_600_000

/** What Mailgun has signed: not the body. */
export interface MailgunSignature {
  timestamp: string
  token: string
}

/**
 * The signature in the body of Mailgun; null if it is not by this key, or too old.
 * @param now epoch, ms
 */
export function mailgunSignature(body: unknown, signingKey: string, now: number): MailgunSignature | null {
  const { timestamp, token, signature } = objectOf(objectOf(body)['signature'])
  const [at, nonce] = [textOf(timestamp), textOf(token)]
  const right = createHmac('sha256', signingKey).update(`${at}${nonce}`).digest()
  const isRight = nonce !== '' && /^\d{1,12}$/.test(at) && isSame(Buffer.from(textOf(signature), 'hex'), right)
  return isRight && Math.abs(now - Number(at) * 1000) < mailgunWindowMs ? { timestamp: at, token: nonce } : null
}

/** The key that the page of the webhook shows. */
export const sendgridKey = (base64: string): KeyObject =>
  createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' })

/** Whether SendGrid has signed the body: with ECDSA, and the timestamp before it. */
export function isSignedBySendgrid(
  body: string,
  { signature, timestamp }: { signature: string | undefined; timestamp: string | undefined },
  key: KeyObject,
): boolean {
  if (!signature || !timestamp) return false
  return verify('sha256', Buffer.from(`${timestamp}${body}`), key, Buffer.from(signature, 'base64'))
}

/** Whether a field `Authorization` has the password; the user's name does not matter. */
export function hasPassword(authorization: string | undefined, password: string): boolean {
  const [, credentials] = /^basic ([a-z0-9+/=]{1,1000})$/i.exec(authorization ?? '') ?? []
  if (credentials === undefined) return false
  const given = Buffer.from(credentials, 'base64').toString('utf8')
  return isSame(digest(given.slice(given.indexOf(':') + 1)), digest(password))
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)
