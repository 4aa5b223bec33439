import { createHash, createHmac, createPublicKey, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import { objectOf, textOf } from '../../platform/json-values.ts'

/** ms; Mailgun repeats an event for eight hours. A signature does not cover the body, so whoever has an older one could use it. */
const mailgunWindowMs = 12 * 3_600_000

/**
 * The token that Mailgun has signed with this key, new for each event; null if it has signed none, or too long ago.
 * @param now epoch, ms
 */
export function mailgunToken(body: unknown, signingKey: string, now: number): string | null {
  const { timestamp, token, signature } = objectOf(objectOf(body)['signature'])
  const [at, nonce] = [textOf(timestamp), textOf(token)]
  const right = createHmac('sha256', signingKey).update(`${at}${nonce}`).digest()
  const isRight = nonce !== '' && /^\d{1,12}$/.test(at) && isSame(Buffer.from(textOf(signature), 'hex'), right)
  return isRight && Math.abs(now - Number(at) * 1000) < mailgunWindowMs ? nonce : null
}

/** The verification key, as the page of the webhook shows it. */
export const sendgridKey = (base64: string): KeyObject =>
  createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' })

/** Whether SendGrid has signed the body, by ECDSA, together with a timestamp. */
export function isSignedBySendgrid(
  body: string,
  { signature, timestamp }: { signature: string | undefined; timestamp: string | undefined },
  key: KeyObject,
): boolean {
  if (!signature || !timestamp) return false
  return verify('sha256', Buffer.from(`${timestamp}${body}`), key, Buffer.from(signature, 'base64'))
}

/** Whether the field `Authorization` has the password, with whatever user name. */
export function hasPassword(authorization: string | undefined, password: string): boolean {
  const [, credentials] = /^basic ([a-z0-9+/=]{1,1000})$/i.exec(authorization ?? '') ?? []
  if (credentials === undefined) return false
  const given = Buffer.from(credentials, 'base64').toString('utf8')
  return isSame(digest(given.slice(given.indexOf(':') + 1)), digest(password))
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)
