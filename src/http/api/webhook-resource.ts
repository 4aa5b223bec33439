import { z } from 'zod'
import { isoTimeOrNull } from '../../iso-time.ts'
import type { AttemptRow, DeliveryRow } from '../../webhook/delivery-history.ts'
import { webhookEventTypes } from '../../webhook/event-subscription.ts'
import { payloadKinds } from '../../webhook/payload-kind.ts'
import { deliveryStates } from '../../webhook/webhook-delivery-store.ts'
import type { Webhook } from '../../webhook/webhook-store.ts'
import { resource, time } from '../resource.ts'
import { timeAnswer } from '../time-field.ts'

export const webhookResource = resource<Webhook>('Webhook')({
  object: 'webhook',
  id: z.string(),
  url: z.string(),
  endpoint: [z.string().describe('The same as `url`.'), 'url'],
  events: z.array(z.enum(webhookEventTypes)),
  description: z.string().nullable(),
  payload: z.enum(payloadKinds),
  include_bots: z.boolean().describe('Whether opens and clicks by machines are posted too.'),
  basic_auth: {
    schema: z.object({ username: z.string() }).nullable().describe('The password is not shown.'),
    convert: (basicAuth: Webhook['basicAuth']) => basicAuth && { username: basicAuth.username },
  },
  public_key: [
    z
      .string()
      .nullable()
      .describe('By which the signature of SendGrid (ECDSA, P-256) or Postal (RSA) is checked, in base64; null for others.'),
    ({ signingKey }) => signingKey?.publicKey ?? null,
  ],
  sandbox: z.boolean().describe('Whether it gets what happens in the sandbox, and nothing else.'),
  status: z.enum(['enabled', 'disabled']),
  disabled_reason: z.enum(['manual', 'failures']).nullable(),
  created_at: time(),
  updated_at: time(),
})

/** Includes what only the owner may see. */
export const webhookWithSecret = resource<Webhook>('WebhookWithSecret')({
  ...webhookResource.fields,
  signing_secret: [z.string().describe('`whsec_…`; the key of `x-service-signature` is the whole string.'), 'secret'],
})

export const webhookDelivery = resource<DeliveryRow>('WebhookDelivery')({
  object: 'webhook_delivery',
  id: z.string(),
  event_id: z.string(),
  type: [z.enum(webhookEventTypes), 'event_type'],
  status: [z.enum(deliveryStates), 'state'],
  attempt_count: [z.int(), 'attempts'],
  created_at: time(),
})

export const webhookAttempt = resource<AttemptRow>('WebhookAttempt')({
  id: z.string(),
  http_status_code: z.int().nullable(),
  response: z.string().nullable().describe('The beginning of the response body.'),
  sent_at: time(),
  duration_ms: z.int(),
  error: z.string().nullable().describe('Why there was no response.'),
})

/** What a single delivery shows in addition. */
export const postedDetails = resource<{ delivery: DeliveryRow; attempts: AttemptRow[] }>(null)({
  next_attempt_at: [timeAnswer.nullable(), ({ delivery }) => isoTimeOrNull(delivery.next_attempt_at)],
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
