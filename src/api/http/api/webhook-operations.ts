import { z } from 'zod'
import { SternaError } from '../../../platform/errors.ts'
import { isoTimeOrNull } from '../../../platform/iso-time.ts'
import type { Webhooks } from '../../../notify/webhook/open-webhooks.ts'
import type { Webhook } from '../../../notify/webhook/webhook-store.ts'
import { isSuccess, type PostResult } from '../../../notify/webhook/post-webhook.ts'
import { listOperation } from '../../operation/list-operation.ts'
import { operation, type Operation } from '../../operation/operation.ts'
import type { OutgoingRequests } from '../outgoing-requests.ts'
import { deletedAnswer } from '../../operation/resource.ts'
import { timeAnswer } from '../../operation/time-field.ts'
import { webhookDeliveryOperations, webhookOf, webhookReplayOperations } from './webhook-delivery-operations.ts'
import { webhookInUse, webhookInUseWithSecret, webhookResource, webhookWithSecret, type WebhookInUse } from './webhook-resource.ts'
import { seenWebhook, seesSecrets } from './webhook-view.ts'
import { rotationRequest, testRequest, webhookChanges, webhookRequest } from './webhook-schema.ts'

interface WebhookServices {
  outgoingRequests: OutgoingRequests
  webhooks: Webhooks
}

/** `/api/webhooks` and their deliveries. */
export const webhookOperations = (services: WebhookServices): Operation[] => [
  ...endpointOperations(services),
  ...secretOperations(services),
  ...webhookDeliveryOperations(services),
  ...webhookReplayOperations(services),
]

const endpointOperations = (services: WebhookServices): Operation[] => [
  operation({
    id: 'webhooks.create',
    method: 'POST',
    path: '/api/webhooks',
    tag: 'Webhooks',
    summary: 'Add a webhook',
    permission: 'full_access',
    idempotency: 'secret',
    sandbox: true,
    body: {
      schema: webhookRequest,
      example: { url: 'https://app.example.com/hooks/mail', events: ['email.delivered', 'email.bounced'] },
    },
    answers: [{ status: 201, description: 'The webhook, with its secret.', schema: webhookWithSecret.schema }],
    refuses: ['invalid_event_type'],
    handle: async ({ caller, body }) => {
      const given = webhookChanges(body)
      if (given.url === undefined) throw missingUrl()
      const webhook = await services.webhooks.list.create(caller, { ...given, url: given.url })
      return webhookWithSecret.answer(webhook)
    },
  }),
  listOperation({
    id: 'webhooks.list',
    path: '/api/webhooks',
    tag: 'Webhooks',
    summary: 'List webhooks',
    permission: 'read_access',
    of: webhookInUse,
    answer: 'The webhooks, newest first.',
    rows: async ({ caller }, page) =>
      Promise.all((await services.webhooks.list.page(caller, page)).map((webhook) => inUse(seenWebhook(caller, webhook), services))),
  }),
  operation({
    id: 'webhooks.get',
    method: 'GET',
    path: '/api/webhooks/{id}',
    tag: 'Webhooks',
    summary: 'Read a webhook',
    description: 'Only keys with full access see the secret, and the query of the URL.',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The webhook.', schema: z.union([webhookInUseWithSecret.schema, webhookInUse.schema]) }],
    handle: async (call) => {
      const webhook = await inUse(seenWebhook(call.caller, webhookOf(call, services)), services)
      return (seesSecrets(call.caller) ? webhookInUseWithSecret : webhookInUse).answer(webhook)
    },
  }),
  operation({
    id: 'webhooks.update',
    method: 'PATCH',
    path: '/api/webhooks/{id}',
    tag: 'Webhooks',
    summary: 'Change a webhook',
    description: 'Disabling cancels pending deliveries; enabling does not bring them back.',
    permission: 'full_access',
    sandbox: true,
    body: { schema: webhookRequest, example: { status: 'disabled' } },
    answers: [{ status: 200, description: 'The webhook.', schema: webhookResource.schema }],
    refuses: ['invalid_event_type'],
    handle: async (call) => {
      const { id } = webhookOf(call, services)
      return webhookResource.answer(await services.webhooks.list.change(call.caller, id, webhookChanges(call.body)))
    },
  }),
  operation({
    id: 'webhooks.delete',
    method: 'DELETE',
    path: '/api/webhooks/{id}',
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'Cancels pending deliveries.',
    permission: 'full_access',
    sandbox: true,
    answers: [
      {
        status: 200,
        description: 'The webhook is deleted.',
        schema: deletedAnswer('webhook', 'DeletedWebhook'),
      },
    ],
    handle: async (call) => {
      const { id } = webhookOf(call, services)
      await services.webhooks.list.remove(call.caller, id)
      return { object: 'webhook' as const, id, deleted: true as const }
    },
  }),
]

const secretOperations = (services: WebhookServices): Operation[] => [
  operation({
    id: 'webhooks.rotate_signing_secret',
    method: 'POST',
    path: '/api/webhooks/{id}/signing-secret/rotate',
    aliases: [{ id: 'webhooks.rotate_secret', path: '/api/webhooks/{id}/rotate-secret' }],
    tag: 'Webhooks',
    summary: 'Rotate the secret of a webhook',
    permission: 'full_access',
    idempotency: 'secret',
    sandbox: true,
    body: { schema: rotationRequest, optional: true },
    answers: [
      {
        status: 200,
        description: 'The new secret, valid at once.',
        schema: z
          .object({
            object: z.literal('webhook'),
            id: z.string(),
            signing_secret: z.string(),
            previous_expires_at: timeAnswer.nullable(),
          })
          .meta({ id: 'RotatedSecret' }),
      },
    ],
    refuses: ['rotation_in_progress'],
    handle: async (call) => {
      const {
        body: { overlap_seconds: seconds, force },
      } = call
      const { id } = webhookOf(call, services)
      const rotated = await services.webhooks.list.rotateSecret(call.caller, id, { overlapMs: seconds * 1000, force })
      const { secret, previousExpiresAt } = rotated
      return {
        object: 'webhook' as const,
        id,
        signing_secret: secret,
        previous_expires_at: isoTimeOrNull(previousExpiresAt),
      }
    },
  }),
  operation({
    id: 'webhooks.test',
    method: 'POST',
    path: '/api/webhooks/{id}/test',
    tag: 'Webhooks',
    summary: 'Post a sample to a webhook',
    description: 'At once and without retries, with the header `x-service-test: true`.',
    permission: 'full_access',
    sandbox: true,
    body: { schema: testRequest, optional: true },
    answers: [
      {
        status: 200,
        description: 'The result.',
        schema: z
          .object({
            object: z.literal('webhook_test'),
            delivered: z.boolean(),
            http_status_code: z.int().nullable(),
            duration_ms: z.int(),
            response: z.string().nullable(),
            error: z.string().nullable(),
          })
          .meta({ id: 'WebhookTest' }),
      },
    ],
    refuses: ['invalid_event_type'],
    handle: async (call) => {
      const {
        body: { type },
      } = call
      const webhook = webhookOf(call, services)
      const post = () => services.webhooks.sendSample(webhook, type)
      return webhookTestObject(await services.outgoingRequests.run(call.caller.accountId, post))
    },
  }),
]

/** What a sample came to, as the API and the command line show it. */
export const webhookTestObject = (result: PostResult) => ({
  object: 'webhook_test' as const,
  delivered: isSuccess(result),
  http_status_code: result.statusCode,
  duration_ms: result.durationMs,
  response: result.response,
  error: result.error,
})

function missingUrl(): SternaError {
  const message = 'The `url` field is missing. It says where to post events.'
  return new SternaError('missing_required_field', message, { faults: [{ field: 'url', code: 'missing', message, help: null }] })
}

const inUse = async (webhook: Webhook, { webhooks }: WebhookServices): Promise<WebhookInUse> => ({
  ...webhook,
  stats: await webhooks.history.stats(webhook.id),
})
