import { z } from 'zod'
import { SternaError } from '../../errors.ts'
import { publicEventTypes } from '../../event/event-type.ts'
import { parseIsoTime } from '../../iso-time.ts'
import type { AttemptRow, DeliveryFilter, DeliveryRow } from '../../webhook/delivery-history.ts'
import { isPublicEventType, subscribedEvents } from '../../webhook/event-subscription.ts'
import type { Webhooks } from '../../webhook/open-webhooks.ts'
import { isSuccess } from '../../webhook/post-webhook.ts'
import { deliveryStates } from '../../webhook/webhook-delivery-store.ts'
import type { WebhookFields } from '../../webhook/webhook-list.ts'
import type { Webhook } from '../../webhook/webhook-store.ts'
import { requirePermission } from '../api-state.ts'
import type { ApiContext, ApiRouter } from '../api-state.ts'
import { jsonBody } from '../json-body.ts'
import { listBody, readPage } from '../page.ts'
import { queryChoice, queryValue } from '../query.ts'
import { validate } from '../validate.ts'
import type { CheckParams } from '../validate.ts'

/** `endpoint` is what other services call the URL; where both are given, `url` counts. */
const webhookSchema = z.object({
  url: z.string().optional(),
  endpoint: z.string().optional(),
  events: z.array(z.string()).max(100).nullish(),
  description: z.string().max(500).nullish(),
  status: z.enum(['enabled', 'disabled']).optional(),
  payload: z.enum(['standard', 'extended']).optional(),
})

const daySeconds = 86_400
const rotationSchema = z.object({
  overlap_seconds: z.int().min(0).max(7 * daySeconds).default(daySeconds),
  force: z.boolean().default(false),
})

const eventType = z.string().transform((name, ctx) => {
  if (isPublicEventType(name)) return name
  const params: CheckParams = { code: 'invalid_event_type', error: 'invalid_event_type' }
  ctx.addIssue({ code: 'custom', message: `must be one of ${publicEventTypes.join(', ')}`, params })
  return z.NEVER
})
const testSchema = z.object({ type: eventType.default('email.delivered') })

const time = z.string().transform((text, ctx) => {
  const at = parseIsoTime(text)
  if (at !== null) return at
  const params: CheckParams = { code: 'invalid_time' }
  ctx.addIssue({ code: 'custom', message: 'must be a time such as 2026-11-21T06:00:00Z', params })
  return z.NEVER
})
const replaySchema = z.object({
  since: time,
  until: time.optional(),
  status: z.enum(['failed', 'canceled']).default('failed'),
})

/** `/api/webhooks` with their deliveries. */
export function webhookRoutes(router: ApiRouter, { webhooks }: { webhooks: Webhooks }): void {
  endpointRoutes(router, webhooks)
  deliveryRoutes(router, webhooks)
  replayRoutes(router, webhooks)
}

function endpointRoutes(router: ApiRouter, { list, sendSample }: Webhooks): void {
  router.post('/api/webhooks', async (ctx) => {
    requirePermission(ctx, 'full_access')
    const given = changesIn(await jsonBody(ctx))
    if (given.url === undefined) throw missingUrl()
    const defaults = { events: subscribedEvents(null), description: null, payload: 'standard', status: 'enabled' } as const
    const webhook = await list.create(ctx.state.submitter, { ...defaults, ...given, url: given.url })
    ctx.status = 201
    ctx.body = { ...webhookObject(webhook), signing_secret: webhook.secret }
  })

  router.get('/api/webhooks', async (ctx) => {
    requirePermission(ctx, 'read_access')
    const page = readPage(ctx)
    ctx.body = listBody(await list.page(ctx.state.submitter, page), page, webhookObject)
  })

  router.get('/api/webhooks/:id', (ctx) => {
    requirePermission(ctx, 'read_access')
    const webhook = webhookOf(ctx, list)
    ctx.body = maySeeSecret(ctx) ? { ...webhookObject(webhook), signing_secret: webhook.secret } : webhookObject(webhook)
  })

  router.patch('/api/webhooks/:id', async (ctx) => {
    requirePermission(ctx, 'full_access')
    const { id } = webhookOf(ctx, list)
    ctx.body = webhookObject(await list.change(ctx.state.submitter, id, changesIn(await jsonBody(ctx))))
  })

  router.delete('/api/webhooks/:id', async (ctx) => {
    requirePermission(ctx, 'full_access')
    const { id } = webhookOf(ctx, list)
    await list.remove(ctx.state.submitter, id)
    ctx.body = { object: 'webhook', id, deleted: true }
  })

  const rotate = async (ctx: ApiContext): Promise<void> => {
    requirePermission(ctx, 'full_access')
    const { id } = webhookOf(ctx, list)
    const { overlap_seconds: seconds, force } = validate(rotationSchema, (await jsonBody(ctx, { optional: true })) ?? {})
    const rotated = await list.rotateSecret(ctx.state.submitter, id, { overlapMs: seconds * 1000, force })
    ctx.body = { object: 'webhook', id, signing_secret: rotated.secret, previous_expires_at: isoTime(rotated.previousExpiresAt) }
  }
  router.post('/api/webhooks/:id/signing-secret/rotate', rotate)
  router.post('/api/webhooks/:id/rotate-secret', rotate)

  router.post('/api/webhooks/:id/test', async (ctx) => {
    requirePermission(ctx, 'full_access')
    const webhook = webhookOf(ctx, list)
    const { type } = validate(testSchema, (await jsonBody(ctx, { optional: true })) ?? {})
    const result = await sendSample(webhook, type)
    ctx.body = {
      object: 'webhook_test',
      delivered: isSuccess(result),
      http_status_code: result.statusCode,
      duration_ms: result.durationMs,
      response: result.response,
      error: result.error,
    }
  })
}

function deliveryRoutes(router: ApiRouter, { list, history }: Webhooks): void {
  router.get('/api/webhooks/:id/deliveries', async (ctx) => {
    requirePermission(ctx, 'read_access')
    const { id } = webhookOf(ctx, list)
    const page = readPage(ctx)
    ctx.body = listBody(await history.deliveries(id, filterIn(ctx), page), page, deliveryObject)
  })

  router.get('/api/webhooks/:id/deliveries/:delivery_id', async (ctx) => {
    requirePermission(ctx, 'read_access')
    const delivery = await history.getDelivery(webhookOf(ctx, list).id, param(ctx, 'delivery_id'))
    const attempts = await history.attempts(delivery.id)
    ctx.body = { ...deliveryObject(delivery), ...details(delivery), attempts: attempts.map(attemptObject) }
  })

  router.get('/api/webhooks/:id/events', async (ctx) => {
    requirePermission(ctx, 'read_access')
    const { id } = webhookOf(ctx, list)
    const page = readPage(ctx)
    ctx.body = listBody(await history.events(id, filterIn(ctx), page), page, eventObject)
  })

  router.get('/api/webhooks/:id/events/:event_id', async (ctx) => {
    requirePermission(ctx, 'read_access')
    const delivery = await history.getEventDelivery(webhookOf(ctx, list).id, param(ctx, 'event_id'))
    const attempts = await history.attempts(delivery.id)
    ctx.body = { object: 'webhook_event', ...eventObject(delivery), ...details(delivery), attempts: attempts.map(attemptObject) }
  })

  router.get('/api/webhooks/:id/events/:event_id/attempts', async (ctx) => {
    requirePermission(ctx, 'read_access')
    const { id } = webhookOf(ctx, list)
    const page = readPage(ctx)
    const { event_id: eventId } = await history.getEventDelivery(id, param(ctx, 'event_id'))
    ctx.body = listBody(await history.eventAttempts(id, eventId, page), page, attemptObject)
  })
}

function replayRoutes(router: ApiRouter, { list, history }: Webhooks): void {
  const replay = async (ctx: ApiContext, webhook: Webhook, delivery: DeliveryRow): Promise<void> => {
    ctx.body = { object: 'webhook_event', id: delivery.event_id, delivery_id: await history.replay(webhook, delivery) }
  }

  router.post('/api/webhooks/:id/deliveries/:delivery_id/replay', async (ctx) => {
    requirePermission(ctx, 'full_access')
    const webhook = webhookOf(ctx, list)
    await replay(ctx, webhook, await history.getDelivery(webhook.id, param(ctx, 'delivery_id')))
  })

  router.post('/api/webhooks/:id/events/:event_id/replay', async (ctx) => {
    requirePermission(ctx, 'full_access')
    const webhook = webhookOf(ctx, list)
    await replay(ctx, webhook, await history.getEventDelivery(webhook.id, param(ctx, 'event_id')))
  })

  router.post('/api/webhooks/:id/replay', async (ctx) => {
    requirePermission(ctx, 'full_access')
    const webhook = webhookOf(ctx, list)
    const { since, until, status } = validate(replaySchema, await jsonBody(ctx))
    const count = await history.replayAll(webhook, { state: status, since, until: until ?? Number.MAX_SAFE_INTEGER })
    ctx.body = { object: 'replay', count }
  })
}

/** What a body says of a webhook, as far as it says anything. */
function changesIn(body: unknown): Partial<WebhookFields> {
  const { url, endpoint, events, description, status, payload } = validate(webhookSchema, body)
  const address = url ?? endpoint
  return {
    ...(address === undefined ? {} : { url: address }),
    ...(events === undefined ? {} : { events: subscribedEvents(events) }),
    ...(description === undefined ? {} : { description }),
    ...(status === undefined ? {} : { status }),
    ...(payload === undefined ? {} : { payload }),
  }
}

function missingUrl(): SternaError {
  const message = 'The `url` field is missing: it says where events are to be posted.'
  return new SternaError('missing_required_field', message, { faults: [{ field: 'url', code: 'missing', message, help: null }] })
}

const param = (ctx: ApiContext, name: string): string => ctx.params[name] ?? ''

const webhookOf = (ctx: ApiContext, list: Webhooks['list']): Webhook => list.getWebhook(ctx.state.submitter, param(ctx, 'id'))

const maySeeSecret = ({ state: { submitter } }: ApiContext): boolean =>
  submitter.permission === 'full_access' || submitter.permission === 'operator'

const filterIn = (ctx: ApiContext): DeliveryFilter => ({
  state: queryChoice(ctx, 'status', deliveryStates),
  type: queryChoice(ctx, 'type', publicEventTypes),
  eventId: queryValue(ctx, 'event_id'),
})

const isoTime = <T extends number | null>(at: T) => (at === null ? null : new Date(at).toISOString())

const webhookObject = (webhook: Webhook) => ({
  object: 'webhook',
  id: webhook.id,
  url: webhook.url,
  endpoint: webhook.url,
  events: webhook.events,
  description: webhook.description,
  payload: webhook.payload,
  status: webhook.status,
  disabled_reason: webhook.disabledReason,
  created_at: isoTime(webhook.createdAt),
  updated_at: isoTime(webhook.updatedAt),
})

const deliveryObject = (delivery: DeliveryRow) => ({
  object: 'webhook_delivery',
  id: delivery.id,
  event_id: delivery.event_id,
  type: delivery.event_type,
  status: delivery.state,
  attempt_count: delivery.attempts,
  created_at: isoTime(delivery.created_at),
})

const eventObject = (delivery: DeliveryRow) => ({
  id: delivery.event_id,
  type: delivery.event_type,
  created_at: isoTime(delivery.created_at),
  status: delivery.state,
})

const details = (delivery: DeliveryRow) => ({
  next_attempt_at: isoTime(delivery.next_attempt_at),
  payload: JSON.parse(delivery.body) as unknown,
})

const attemptObject = (attempt: AttemptRow) => ({
  id: attempt.id,
  http_status_code: attempt.http_status_code,
  response: attempt.response,
  sent_at: isoTime(attempt.sent_at),
  duration_ms: attempt.duration_ms,
  error: attempt.error,
})
