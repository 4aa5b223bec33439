import { z } from 'zod'
import { isoTimeOrNull } from '../../../platform/iso-time.ts'
import { webhookEventTypes } from '../../../mail/event/event-type.ts'
import type { DeliveryRow } from '../../../notify/webhook/delivery-history.ts'
import type { DeliveryFilter } from '../../../notify/webhook/delivery-search.ts'
import type { Webhooks } from '../../../notify/webhook/open-webhooks.ts'
import { deliveryStates, type DeliveryState } from '../../../notify/webhook/delivery-state.ts'
import type { Webhook } from '../../../notify/webhook/webhook-store.ts'
import type { CallTo } from '../../operation/call.ts'
import type { Caller } from '../../operation/caller.ts'
import { listOperation } from '../../operation/list-operation.ts'
import { operation, type Operation } from '../../operation/operation.ts'
import { listBody, listOf, pageOf, pageParameters } from '../../operation/page.ts'
import { choiceParameter, textParameter } from '../../operation/query.ts'
import { timeAnswer, timeField } from '../../operation/time-field.ts'
import { seenAttempt } from './webhook-view.ts'
import { postedDetails, webhookAttempt, webhookDelivery, webhookEvent } from './webhook-resource.ts'

/**
 * The webhook in the path.
 * @throws SternaError `not_found`
 */
export const webhookOf = (call: CallTo<'id'>, { webhooks }: { webhooks: Webhooks }): Webhook =>
  webhooks.list.getWebhook(call.caller, call.params.id)

const deliveryOf = (call: CallTo<'id' | 'delivery_id'>, services: { webhooks: Webhooks }): Promise<DeliveryRow> =>
  services.webhooks.history.getDelivery(webhookOf(call, services).id, call.params.delivery_id)

/** The last one of the event. */
const eventDeliveryOf = (call: CallTo<'id' | 'event_id'>, services: { webhooks: Webhooks }): Promise<DeliveryRow> =>
  services.webhooks.history.getEventDelivery(webhookOf(call, services).id, call.params.event_id)

const filters = {
  status: choiceParameter(deliveryStates),
  type: choiceParameter(webhookEventTypes),
  event_id: textParameter,
}

type Filters = { status: DeliveryState | null; type: string | null; event_id: string | null }
const filterOf = ({ status, type, event_id: eventId }: Filters): DeliveryFilter => ({ state: status, type, eventId })

const deliveryDetail = webhookDelivery.schema.extend(postedDetails.schema.shape).meta({ id: 'WebhookDeliveryDetail' })
const eventDetail = webhookEvent.schema
  .extend({ object: z.literal('webhook_event'), next_attempt_at: timeAnswer.nullable(), ...postedDetails.schema.shape })
  .meta({ id: 'WebhookEventDetail' })

async function detailsOf(caller: Caller, delivery: DeliveryRow, { webhooks }: { webhooks: Webhooks }) {
  const attempts = await webhooks.history.attempts(delivery.id)
  return postedDetails.answer({ delivery, attempts: attempts.map((attempt) => seenAttempt(caller, attempt)) })
}

/** What was posted to a webhook, by delivery and by event. */
export const webhookDeliveryOperations = (services: { webhooks: Webhooks }): Operation[] => [
  listOperation({
    id: 'webhooks.list_deliveries',
    path: '/api/webhooks/{id}/deliveries',
    tag: 'Webhooks',
    summary: 'List deliveries',
    permission: 'read_access',
    query: { ...filters },
    of: webhookDelivery,
    answer: 'The deliveries, newest first.',
    rows: (call, page) => services.webhooks.history.deliveries(webhookOf(call, services).id, filterOf(call.query), page),
  }),
  operation({
    id: 'webhooks.get_delivery',
    method: 'GET',
    path: '/api/webhooks/{id}/deliveries/{delivery_id}',
    tag: 'Webhooks',
    summary: 'Read a delivery with its attempts',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The delivery.', schema: deliveryDetail }],
    handle: async (call) => {
      const delivery = await deliveryOf(call, services)
      return { ...webhookDelivery.answer(delivery), ...(await detailsOf(call.caller, delivery, services)) }
    },
  }),
  listOperation({
    id: 'webhooks.list_events',
    path: '/api/webhooks/{id}/events',
    tag: 'Webhooks',
    summary: 'List events of a webhook',
    description: 'Shows the last delivery of each event.',
    permission: 'read_access',
    query: { ...filters },
    of: webhookEvent,
    answer: 'The events, newest first.',
    rows: (call, page) => services.webhooks.history.events(webhookOf(call, services).id, filterOf(call.query), page),
  }),
  operation({
    id: 'webhooks.get_event',
    method: 'GET',
    path: '/api/webhooks/{id}/events/{event_id}',
    tag: 'Webhooks',
    summary: 'Read an event of a webhook with its attempts',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The event.', schema: eventDetail }],
    handle: async (call) => {
      const delivery = await eventDeliveryOf(call, services)
      const details = await detailsOf(call.caller, delivery, services)
      const next = isoTimeOrNull(delivery.next_attempt_at)
      return { object: 'webhook_event' as const, ...webhookEvent.answer(delivery), next_attempt_at: next, ...details }
    },
  }),
  operation({
    id: 'webhooks.list_event_attempts',
    method: 'GET',
    path: '/api/webhooks/{id}/events/{event_id}/attempts',
    tag: 'Webhooks',
    summary: 'List attempts to post an event',
    permission: 'read_access',
    query: pageParameters,
    answers: [{ status: 200, description: 'The attempts of all its deliveries, newest first.', schema: listOf(webhookAttempt.schema) }],
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

const deliveryPath = '/api/webhooks/{id}/deliveries/{delivery_id}/replay'
const eventPath = '/api/webhooks/{id}/events/{event_id}/replay'

/** Posts a delivery again that the path names. */
const replayOperation = (
  services: { webhooks: Webhooks },
  declared: Pick<Operation, 'id' | 'summary'> & { path: typeof deliveryPath | typeof eventPath },
  find: typeof deliveryOf | typeof eventDeliveryOf,
): Operation =>
  operation({
    ...declared,
    method: 'POST',
    tag: 'Webhooks',
    description: 'The same event id and bytes with a new signature, and the whole retry schedule from its beginning.',
    permission: 'full_access',
    sandbox: true,
    answers: [{ status: 200, description: 'A new delivery waits to be posted.', schema: replayAnswer }],
    refuses: ['invalid_state'],
    handle: async (call) => {
      const delivery = await find(call, services)
      const replay = await services.webhooks.history.replay(webhookOf(call, services), delivery)
      return { object: 'webhook_event' as const, id: delivery.event_id, delivery_id: replay }
    },
  })

/** Posting again what was posted already. */
export function webhookReplayOperations(services: { webhooks: Webhooks }): Operation[] {
  return [
    replayOperation(services, { id: 'webhooks.replay_delivery', path: deliveryPath, summary: 'Post a delivery again' }, deliveryOf),
    replayOperation(services, { id: 'webhooks.replay_event', path: eventPath, summary: 'Post an event again' }, eventDeliveryOf),
    operation({
      id: 'webhooks.replay',
      method: 'POST',
      path: '/api/webhooks/{id}/replay',
      tag: 'Webhooks',
      summary: 'Post all failed events of a period again',
      permission: 'full_access',
      sandbox: true,
      body: { schema: replayRequest, example: { since: '2026-11-20T00:00:00Z', status: 'failed' } },
      answers: [
        {
          status: 200,
          description: 'How many deliveries are pending now; of a dry run, how many would be.',
          schema: z.object({ object: z.literal('replay'), count: z.int() }).meta({ id: 'WebhookReplayCount' }),
        },
      ],
      refuses: ['invalid_state'],
      handle: async (call) => {
        const {
          body: { since, until = Number.MAX_SAFE_INTEGER, status, dry_run: isDry },
        } = call
        const webhook = webhookOf(call, services)
        const range = { state: status, since, until }
        const { history } = services.webhooks
        const count = isDry ? await history.countReplays(webhook.id, range) : await history.replayAll(webhook, range)
        return { object: 'replay' as const, count }
      },
    }),
  ]
}
