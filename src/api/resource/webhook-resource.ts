import { z } from 'zod'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import type { AttemptRow, DeliveryRow } from '../../notify/webhook/delivery-history.ts'
import { webhookEventTypes } from '../../mail/event/event-type.ts'
import { deliveryStates } from '../../notify/webhook/delivery-state.ts'
import { maxCounted, type WebhookStats } from '../../notify/webhook/webhook-stats.ts'
import { webhookObject } from '../../notify/webhook/webhook-object.ts'
import type { Webhook } from '../../notify/webhook/webhook-store.ts'
import { resource, time, timeOrNull, timeAnswer } from '../operation/resource.ts'
import { mayDo, type Caller } from '../operation/caller.ts'

export const webhookResource = resource<Webhook>('Webhook')({
  object: 'webhook',
  id: z.string(),
  ...webhookObject.answer,
  endpoint: [z.string().describe('The same as `url`.'), 'url'],
  public_key: [
    z
      .string()
      .nullable()
      .describe('By which the signature of SendGrid (ECDSA, P-256) or Postal (RSA) is checked, in base64; null for others.'),
    ({ signingKey }) => signingKey?.publicKey ?? null,
  ],
  disabled_reason: z.enum(['manual', 'failures']).nullable(),
  created_at: time(),
  updated_at: time(),
})

/** Includes what only the owner may see. */
export const webhookWithSecret = resource<Webhook>('WebhookWithSecret')({
  ...webhookResource.fields,
  signing_secret: [z.string().describe('`whsec_…`; the key of `x-service-signature` is the whole string.'), 'secret'],
})

/** A webhook with how it fares. */
export interface WebhookInUse extends Webhook {
  stats: WebhookStats
}

const inUseFields = {
  ...webhookResource.fields,
  stats: {
    schema: z
      .object({ success: z.int(), failed: z.int(), pending: z.int(), last_status_code: z.int().nullable(), last_at: timeAnswer.nullable() })
      .describe(`Of the newest ${maxCounted} deliveries, at most, of the last 24 hours.`),
    convert: ({ success, failed, pending, lastStatusCode, lastAt }: WebhookStats) => ({
      success,
      failed,
      pending,
      last_status_code: lastStatusCode,
      last_at: isoTimeOrNull(lastAt),
    }),
  },
  failing_since: [
    timeAnswer.nullable().describe('The first of the failed attempts since the last one that succeeded.'),
    ({ stats }: WebhookInUse) => isoTimeOrNull(stats.failingSince),
  ],
  previous_secret_expires_at: [
    timeAnswer.nullable().describe('Until when requests are signed with the secret before too; null if there is none.'),
    ({ previousExpiresAt }: WebhookInUse) => isoTimeOrNull(previousExpiresAt),
  ],
} as const

export const webhookInUse = resource<WebhookInUse>('WebhookInUse')(inUseFields)

/** Includes what only the owner may see. */
export const webhookInUseWithSecret = resource<WebhookInUse>('WebhookInUseWithSecret')({
  ...inUseFields,
  signing_secret: webhookWithSecret.fields.signing_secret,
})

export const webhookDelivery = resource<DeliveryRow>('WebhookDelivery')({
  object: 'webhook_delivery',
  id: z.string(),
  event_id: z.string(),
  type: [z.enum(webhookEventTypes), 'event_type'],
  status: [z.enum(deliveryStates), 'state'],
  attempt_count: [z.int(), 'attempts'],
  next_attempt_at: timeOrNull(),
  email_id: z.string().nullable().describe('Null once the event is no longer kept.'),
  to: [z.string().nullable().describe('The recipient that the event is about.'), 'recipient'],
  last_status_code: z.int().nullable().describe('Of the last attempt.'),
  last_duration_ms: z.int().nullable(),
  last_error: z.string().nullable().describe('Why the last attempt had no response.'),
  created_at: time(),
})

export const webhookAttempt = resource<AttemptRow>('WebhookAttempt')({
  id: z.string(),
  http_status_code: z.int().nullable(),
  response: z.string().nullable().describe('The beginning of the response body; null for keys without full access.'),
  sent_at: time(),
  duration_ms: z.int(),
  error: z.string().nullable().describe('Why there was no response.'),
})

/** What a single delivery shows in addition. */
export const postedDetails = resource<{ delivery: DeliveryRow; attempts: AttemptRow[] }>(null)({
  payload: [
    z
      .union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown()))])
      .describe('The body that is posted; of `payload: "mailgun"` what is posted as `event-data`.'),
    ({ delivery }) => JSON.parse(delivery.body) as Record<string, unknown>,
  ],
  attempts: [z.array(webhookAttempt.schema), ({ attempts }) => attempts.map(webhookAttempt.answer)],
})

/** An event from a webhook's point of view, as other services offer it. */
export const webhookEvent = resource<DeliveryRow>('WebhookEvent')({
  id: [z.string(), 'event_id'],
  type: [z.enum(webhookEventTypes), 'event_type'],
  created_at: time(),
  status: [z.enum(deliveryStates), 'state'],
})

/** Whether the holder of the request sees a webhook as its owner does. Others see nothing that lets them post or read in its place. */
export const seesSecrets = (caller: Caller): boolean => mayDo(caller, 'full_access')

/** A webhook as the holder of the request may see it: many receivers check a token in the query of the URL. */
export const seenWebhook = <W extends Webhook>(caller: Caller, webhook: W): W =>
  seesSecrets(caller) ? webhook : { ...webhook, url: placeOf(webhook.url) }

/** An attempt likewise: what a receiver answers may repeat the request with all that was in it. */
export const seenAttempt = (caller: Caller, attempt: AttemptRow): AttemptRow =>
  seesSecrets(caller) ? attempt : { ...attempt, response: null }

/** A URL without user name, password, query and fragment. */
function placeOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
