import { createHmac, randomBytes } from 'node:crypto'

const secretPrefix = 'whsec_'

/** A new signing secret: `whsec_` and 32 random bytes in padded base64, as Standard Webhooks requires. */
export const newSecret = (): string => secretPrefix + randomBytes(32).toString('base64')

/** Whether a secret that somebody brings along can be used: Standard Webhooks asks for 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  if (!text.startsWith(secretPrefix)) return false
  const bytes = Buffer.from(text.slice(secretPrefix.length), 'base64')
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === text.slice(secretPrefix.length)
}

/** What to sign for one attempt, and the secrets to sign it with. */
interface WebhookAttempt {
  eventId: string
  eventType: string
  deliveryId: string
  /** 1 for the first attempt. */
  number: number
  body: Uint8Array
  secret: string
  /** The previous secret while its overlap lasts, else null. */
  previousSecret: string | null
  /** Epoch, ms; the time of this attempt. */
  at: number
}

/**
 * All headers of one attempt. `x-service-signature` uses the whole secret as its key, prefix included, so that a receiver can paste the
 * string into its HMAC function. `webhook-signature` follows Standard Webhooks, whose key is the decoded part.
 */
export function webhookHeaders(attempt: WebhookAttempt): Record<string, string> {
  const { body, secret, previousSecret } = attempt
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret]
  const timestamp = String(Math.floor(attempt.at / 1000))
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'Sterna-Webhooks/1',
    'x-service-signature': bodySignature(secret, body),
    'webhook-id': attempt.eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((one) => `v1,${standardSignature(one, `${attempt.eventId}.${timestamp}.`, body)}`).join(' '),
    'x-service-event': attempt.eventType,
    'x-service-delivery': attempt.deliveryId,
    'x-service-attempt': String(attempt.number),
  }
  if (previousSecret !== null) headers['x-service-signature-previous'] = bodySignature(previousSecret, body)
  return headers
}

const bodySignature = (secret: string, body: Uint8Array): string => createHmac('sha256', secret).update(body).digest('hex')

const standardSignature = (secret: string, prefix: string, body: Uint8Array): string =>
  createHmac('sha256', Buffer.from(secret.slice(secretPrefix.length), 'base64'))
    .update(prefix)
    .update(body)
    .digest('base64')
