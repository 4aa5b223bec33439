import { z } from 'zod'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import { webhookEventTypes } from '../../mail/event/event-type.ts'
import type { DeliveryRow, EmailDeliveryRow } from '../../notify/webhook/delivery-history.ts'
import type { DeliveryFilter } from '../../notify/webhook/delivery-search.ts'
import { deliveryStates } from '../../notify/webhook/delivery-state.ts'
import type { Webhook } from '../../notify/webhook/webhook-store.ts'
import type { CallTo } from '../operation/call.ts'
import type { Caller } from '../operation/caller.ts'
import type { Operation, QueryValues } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listBody, listOf, pageOf, pageParameters } from '../operation/page.ts'
import { choiceParameter, textParameter } from '../operation/query.ts'
import { timeField } from '../../platform/managed-object.ts'
import { seenAttempt, postedDetails, webhookAttempt, webhookDelivery, webhookEvent } from './webhook-resource.ts'
import type { Needs } from './operation-services.ts'
import { resource, timeAnswer } from '../operation/resource.ts'
import { findMessage } from './email-reading-operations.ts'

/**
 * The webhook in the path.
 * @throws SternaError `not_found`
 */
export const webhookOf = (call: CallTo<'id'>, { webhooks }: Needs<'webhooks'>): Webhook =>
  webhooks.list.getWebhook(call.caller, call.params.id)

const deliveryOf = (call: CallTo<'id' | 'delivery_id'>, services: Needs<'webhooks'>): Promise<DeliveryRow> =>
  services.webhooks.history.getDelivery(webhookOf(call, services).id, call.params.delivery_id)

/** The last one of the event. */
const eventDeliveryOf = (call: CallTo<'id' | 'event_id'>, services: Needs<'webhooks'>): Promise<DeliveryRow> =>
  services.webhooks.history.getEventDelivery(webhookOf(call, services).id, call.params.event_id)

const filters = {
  status: choiceParameter(deliveryStates),
  type: choiceParameter(webhookEventTypes),
  event_id: textParameter,
}

const filterOf = ({ status: state, type, event_id: eventId }: QueryValues<typeof filters>): DeliveryFilter => ({ state, type, eventId })

const deliveryDetail = webhookDelivery.schema.extend(postedDetails.schema.shape).meta({ id: 'WebhookDeliveryDetail' })
const eventDetail = webhookEvent.schema
  .extend({ object: z.literal('webhook_event'), next_attempt_at: timeAnswer.nullable(), ...postedDetails.schema.shape })
  .meta({ id: 'WebhookEventDetail' })

async function detailsOf(caller: Caller, delivery: DeliveryRow, { webhooks }: Needs<'webhooks'>) {
  const attempts = await webhooks.history.attempts(delivery.id)
  return postedDetails.answer({ delivery, attempts: attempts.map((attempt) => seenAttempt(caller, attempt)) })
}

const at = operationsAt({
  path: '/api/webhooks',
  tag: 'Webhooks',
  permission: { read: 'read_access', change: 'full_access' },
  sandbox: true,
})

/** What was posted to a webhook, by delivery and by event. */
export const webhookDeliveryOperations = (services: Needs<'webhooks'>): Operation[] => [
  at.list('webhooks.list_deliveries', '/{id}/deliveries', 'List deliveries', {
    query: { ...filters },
    answer: ['The deliveries, newest first.', webhookDelivery],
    rows: (call, page) => services.webhooks.history.deliveries(webhookOf(call, services).id, filterOf(call.query), page),
  }),
  at.get('webhooks.get_delivery', '/{id}/deliveries/{delivery_id}', 'Read a delivery with its attempts', {
    answer: ['The delivery.', deliveryDetail],
    handle: async (call) => {
      const delivery = await deliveryOf(call, services)
      return { ...webhookDelivery.answer(delivery), ...(await detailsOf(call.caller, delivery, services)) }
    },
  }),
  at.list('webhooks.list_events', '/{id}/events', 'List events of a webhook', {
    description: 'Shows the last delivery of each event.',
    query: { ...filters },
    answer: ['The events, newest first.', webhookEvent],
    rows: (call, page) => services.webhooks.history.events(webhookOf(call, services).id, filterOf(call.query), page),
  }),
  at.get('webhooks.get_event', '/{id}/events/{event_id}', 'Read an event of a webhook with its attempts', {
    answer: ['The event.', eventDetail],
    handle: async (call) => {
      const delivery = await eventDeliveryOf(call, services)
      const details = await detailsOf(call.caller, delivery, services)
      const next = isoTimeOrNull(delivery.next_attempt_at)
      return { object: 'webhook_event' as const, ...webhookEvent.answer(delivery), next_attempt_at: next, ...details }
    },
  }),
  at.get('webhooks.list_event_attempts', '/{id}/events/{event_id}/attempts', 'List attempts to post an event', {
    query: pageParameters,
    answer: ['The attempts of all its deliveries, newest first.', listOf(webhookAttempt.schema)],
    handle: async (call) => {
      const page = pageOf(call.query)
      const { event_id: eventId } = await eventDeliveryOf(call, services)
      const attempts = await services.webhooks.history.eventAttempts(call.params.id, eventId, page)
      return listBody(attempts, page, (attempt) => webhookAttempt.answer(seenAttempt(call.caller, attempt)))
    },
  }),
]

const replayRequest = z.object({
  since: timeField,
  until: timeField.optional(),
  status: z.enum(['failed', 'canceled']).default('failed'),
  dry_run: z.boolean().default(false).describe('Only counts them, also while the webhook is disabled.'),
})

const replayAnswer = z
  .object({
    object: z.literal('webhook_event'),
    id: z.string().describe('The id of the event; it stays the same.'),
    delivery_id: z.string().describe('The id of the new delivery.'),
  })
  .meta({ id: 'WebhookReplay' })

const replayed = {
  description: 'The same event id and bytes with a new signature, and the whole retry schedule from its beginning.',
  answer: ['A new delivery waits to be posted.', replayAnswer],
  refuses: ['invalid_state'],
} as const

async function replay(webhook: Webhook, delivery: DeliveryRow, { webhooks }: Needs<'webhooks'>) {
  const id = await webhooks.history.replay(webhook, delivery)
  return { object: 'webhook_event' as const, id: delivery.event_id, delivery_id: id }
}

/** Posting again what was posted already. */
export const webhookReplayOperations = (services: Needs<'webhooks'>): Operation[] => [
  at.post('webhooks.replay_delivery', '/{id}/deliveries/{delivery_id}/replay', 'Post a delivery again', {
    ...replayed,
    handle: async (call) => replay(webhookOf(call, services), await deliveryOf(call, services), services),
  }),
  at.post('webhooks.replay_event', '/{id}/events/{event_id}/replay', 'Post an event again', {
    ...replayed,
    handle: async (call) => replay(webhookOf(call, services), await eventDeliveryOf(call, services), services),
  }),
  at.post('webhooks.replay', '/{id}/replay', 'Post all failed events of a period again', {
    body: { schema: replayRequest, example: { since: '2026-11-20T00:00:00Z', status: 'failed' } },
    answer: [
      'How many deliveries are pending now; of a dry run, how many would be.',
      z.object({ object: z.literal('replay'), count: z.int() }).meta({ id: 'WebhookReplayCount' }),
    ],
    refuses: ['invalid_state'],
    handle: async (call) => {
      const { since, until = Number.MAX_SAFE_INTEGER, status, dry_run: isDry } = call.body
      const webhook = webhookOf(call, services)
      const range = { state: status, since, until }
      const { history } = services.webhooks
      const count = isDry ? await history.countReplays(webhook.id, range) : await history.replayAll(webhook, range)
      return { object: 'replay' as const, count }
    },
  }),
]

export const emailDelivery = resource<EmailDeliveryRow>('EmailWebhookDelivery')({ ...webhookDelivery.fields, webhook_id: z.string() })

const ofEmail = operationsAt({ path: '/api/emails', tag: 'Emails', permission: 'read_access' })

/** Which webhooks were told of an email. */
export const emailDeliveryOperations = ({ messages, webhooks }: Needs<'messages' | 'webhooks'>): Operation[] => [
  ofEmail.list('emails.list_webhook_deliveries', '/{id}/webhook-deliveries', 'List what webhooks were told of an email', {
    answer: ['The deliveries to all webhooks, newest first.', emailDelivery],
    rows: async (call, page) => {
      const { id: emailId } = await findMessage(call, messages)
      return webhooks.history.ofEmail({ accountId: call.caller.accountId, emailId }, page)
    },
  }),
]
