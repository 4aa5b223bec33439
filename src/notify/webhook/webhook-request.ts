import { createHash, createHmac } from 'node:crypto'
import { keySignature } from './signing-key.ts'
import { webhookHeaders } from './sign-webhook.ts'
import type { Webhook } from './webhook-store.ts'

/** What one attempt posts. */
interface WebhookPost {
  eventId: string
  eventType: string
  deliveryId: string
  /** 1 for the first attempt. */
  number: number
  /** As stored. */
  text: string
  /** Epoch, ms; the time of this attempt. */
  at: number
}

/**
 * The request of one attempt, with our own signatures and that of the service whose shape the webhook has. If that has room for only one
 * signature, it uses the current secret or key.
 */
export async function webhookRequest(
  webhook: Webhook,
  post: WebhookPost,
): Promise<{ url: string; headers: Record<string, string>; body: Buffer }> {
  const { url, secret, basicAuth } = webhook
  const body = Buffer.from(webhook.payload === 'mailgun' ? inMailgunEnvelope(post, secret) : post.text)
  const own = webhookHeaders({ ...post, body, secret, previousSecret: openPreviousSecret(webhook, post.at) })
  const authorization = basicAuth && `Basic ${Buffer.from(`${basicAuth.username}:${basicAuth.password}`).toString('base64')}`
  const headers = { ...own, ...(await serviceHeaders(webhook, own, body)), ...(authorization ? { authorization } : {}) }
  return { url, headers, body }
}

async function serviceHeaders(
  { payload, signingKey: key }: Webhook,
  own: Record<string, string>,
  body: Buffer,
): Promise<Record<string, string>> {
  const timestamp = own['webhook-timestamp'] ?? ''
  if (payload === 'sendgrid' && key) {
    return {
      'x-twilio-email-event-webhook-signature': await keySignature('sha256', Buffer.concat([Buffer.from(timestamp), body]), key),
      'x-twilio-email-event-webhook-timestamp': timestamp,
    }
  }
  if (payload === 'postal' && key) {
    const [sha1, sha256] = await Promise.all([keySignature('sha1', body, key), keySignature('sha256', body, key)])
    return { 'x-postal-signature': sha1, 'x-postal-signature-256': sha256 }
  }
  if (payload === 'resend') {
    return Object.fromEntries(['id', 'timestamp', 'signature'].map((name) => [`svix-${name}`, own[`webhook-${name}`] ?? '']))
  }
  return {}
}

/** Mailgun signs a token beside the event. Ours is the same at every attempt, so that receivers recognise repeated events. */
function inMailgunEnvelope({ eventId, text, at }: WebhookPost, secret: string): string {
  const token = createHash('sha256').update(eventId).digest('hex').slice(0, 50)
  const timestamp = String(Math.floor(at / 1000))
  const signature = createHmac('sha256', secret).update(`${timestamp}${token}`).digest('hex')
  return `{"signature":${JSON.stringify({ token, timestamp, signature })},"event-data":${text}}`
}

/** The previous secret during its overlap. */
const openPreviousSecret = ({ previousSecret, previousExpiresAt }: Webhook, at: number): string | null =>
  previousExpiresAt !== null && previousExpiresAt > at ? previousSecret : null
