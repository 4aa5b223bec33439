import { z } from 'zod'
import { publicEventTypes } from '../../event/event-type.ts'
import { isoTime, isoTimeOrNull } from '../../iso-time.ts'
import type { AttemptRow, DeliveryRow } from '../../webhook/delivery-history.ts'
import { deliveryStates } from '../../webhook/webhook-delivery-store.ts'
import type { Webhook } from '../../webhook/webhook-store.ts'
import { timeAnswer } from '../time-field.ts'

export const webhookAnswer = z
  .object({
    object: z.literal('webhook'),
    id: z.string(),
    url: z.string(),
    endpoint: z.string().describe('The same as `url`.'),
    events: z.array(z.enum(publicEventTypes)),
    description: z.string().nullable(),
    payload: z.enum(['standard', 'extended']),
    include_bots: z.boolean().describe('Whether opens and clicks by machines are posted too.'),
    status: z.enum(['enabled', 'disabled']),
    disabled_reason: z.enum(['manual', 'failures']).nullable(),
    created_at: timeAnswer,
    updated_at: timeAnswer,
  })
  .meta({ id: 'Webhook' })

/** With what only its owner sees. */
export const webhookWithSecret = webhookAnswer
  .extend({ signing_secret: z.string().describe('`whsec_…`; the key of `x-service-signature` is this whole text.') })
  .meta({ id: 'WebhookWithSecret' })

export const deliveryAnswer = z
  .object({
    object: z.literal('webhook_delivery'),
    id: z.string(),
    event_id: z.string(),
    type: z.enum(publicEventTypes),
    status: z.enum(deliveryStates),
    attempt_count: z.int(),
    created_at: timeAnswer,
  })
  .meta({ id: 'WebhookDelivery' })

export const attemptAnswer = z
  .object({
    id: z.string(),
    http_status_code: z.int().nullable(),
    response: z.string().nullable().describe('How the body of the answer began.'),
    sent_at: timeAnswer,
    duration_ms: z.int(),
    error: z.string().nullable().describe('Why there was no answer.'),
  })
  .meta({ id: 'WebhookAttempt' })

const detailFields = {
  next_attempt_at: timeAnswer.nullable(),
  payload: z.record(z.string(), z.unknown()).describe('The body that is posted.'),
  attempts: z.array(attemptAnswer),
}

export const deliveryDetailAnswer = deliveryAnswer.extend(detailFields).meta({ id: 'WebhookDeliveryDetail' })

/** An event as a webhook has it: the view that other services offer. */
export const eventAnswer = z
  .object({ id: z.string(), type: z.enum(publicEventTypes), created_at: timeAnswer, status: z.enum(deliveryStates) })
  .meta({ id: 'WebhookEvent' })

export const eventDetailAnswer = eventAnswer
  .extend({ object: z.literal('webhook_event'), ...detailFields })
  .meta({ id: 'WebhookEventDetail' })

export const webhookObject = (webhook: Webhook) => ({
  object: 'webhook' as const,
  id: webhook.id,
  url: webhook.url,
  endpoint: webhook.url,
  events: webhook.events,
  description: webhook.description,
  payload: webhook.payload,
  include_bots: webhook.includeBots,
  status: webhook.status,
  disabled_reason: webhook.disabledReason,
  created_at: isoTime(webhook.createdAt),
  updated_at: isoTime(webhook.updatedAt),
})

export const deliveryObject = (delivery: DeliveryRow) => ({
  object: 'webhook_delivery' as const,
  id: delivery.id,
  event_id: delivery.event_id,
  type: delivery.event_type,
  status: delivery.state,
  attempt_count: delivery.attempts,
  created_at: isoTime(delivery.created_at),
})

export const eventObject = (delivery: DeliveryRow) => ({
  id: delivery.event_id,
  type: delivery.event_type,
  created_at: isoTime(delivery.created_at),
  status: delivery.state,
})

export const detailsOf = (delivery: DeliveryRow, attempts: AttemptRow[]) => ({
  next_attempt_at: isoTimeOrNull(delivery.next_attempt_at),
  payload: JSON.parse(delivery.body) as Record<string, unknown>,
  attempts: attempts.map(attemptObject),
})

export const attemptObject = (attempt: AttemptRow) => ({
  id: attempt.id,
  http_status_code: attempt.http_status_code,
  response: attempt.response,
  sent_at: isoTime(attempt.sent_at),
  duration_ms: attempt.duration_ms,
  error: attempt.error,
})
