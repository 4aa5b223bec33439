import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import type { Webhook } from '../../notify/webhook/webhook-store.ts'
import { isSuccess, type PostResult } from '../../notify/webhook/post-webhook.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { deletedAnswer, resource, timeAnswer } from '../operation/resource.ts'
import { webhookDeliveryOperations, webhookOf, webhookReplayOperations } from './webhook-delivery-operations.ts'
import {
  webhookInUse,
  webhookInUseWithSecret,
  webhookResource,
  webhookWithSecret,
  type WebhookInUse,
  seenWebhook,
  seesSecrets,
} from './webhook-resource.ts'
import type { Needs } from './operation-services.ts'
import { webhookEventType, webhookObject, type WebhookFields } from '../../notify/webhook/webhook-object.ts'

const webhookRequest = z.object({
  ...webhookObject.changes,
  endpoint: z.string().optional().describe('Another name for `url`, which takes precedence if both are given.'),
})

const daySeconds = 86_400
const rotationRequest = z.object({
  overlap_seconds: z
    .int()
    .min(0)
    .max(7 * daySeconds)
    .default(daySeconds)
    .describe(
      'For so long `webhook-signature` is made with the old secret too; signatures of other services, which have room for one key, ' +
        'change at once.',
    ),
  force: z.boolean().default(false).describe('Rotates even while the overlap of an earlier rotation is still running.'),
})

const testRequest = z.object({ type: webhookEventType.default('email.delivered').describe('Default: `email.delivered`.') })

/** The fields of a webhook that a body gives. */
const webhookChanges = ({ endpoint, ...given }: z.output<typeof webhookRequest>): Partial<WebhookFields> =>
  webhookObject.membersIn({ ...given, url: given.url ?? endpoint })

type Services = Needs<'outgoingRequests' | 'webhooks'>

/** `/api/webhooks` and their deliveries. */
export const webhookOperations = (services: Services): Operation[] => [
  at.post('webhooks.create', '', 'Add a webhook', {
    idempotency: 'secret',
    body: {
      schema: webhookRequest,
      example: { url: 'https://app.example.com/hooks/mail', events: ['email.delivered', 'email.bounced'] },
    },
    answer: ['The webhook, with its secret.', webhookWithSecret.schema, 201],
    refuses: ['invalid_event_type'],
    handle: async ({ caller, body }) => {
      const given = webhookChanges(body)
      if (given.url === undefined) throw missingUrl()
      const webhook = await services.webhooks.list.create(caller, { ...given, url: given.url })
      return webhookWithSecret.answer(webhook)
    },
  }),
  at.list('webhooks.list', '', 'List webhooks', {
    answer: ['The webhooks, newest first.', webhookInUse],
    rows: async ({ caller }, page) =>
      Promise.all((await services.webhooks.list.page(caller, page)).map((webhook) => inUse(seenWebhook(caller, webhook), services))),
  }),
  at.get('webhooks.get', '/{id}', 'Read a webhook', {
    description: 'Only keys with full access see the secret, and the query of the URL.',
    answer: ['The webhook.', z.union([webhookInUseWithSecret.schema, webhookInUse.schema])],
    handle: async (call) => {
      const webhook = await inUse(seenWebhook(call.caller, webhookOf(call, services)), services)
      return (seesSecrets(call.caller) ? webhookInUseWithSecret : webhookInUse).answer(webhook)
    },
  }),
  at.patch('webhooks.update', '/{id}', 'Change a webhook', {
    description: 'Disabling cancels pending deliveries; enabling does not bring them back.',
    body: { schema: webhookRequest, example: { status: 'disabled' } },
    answer: ['The webhook.', webhookResource.schema],
    refuses: ['invalid_event_type'],
    handle: async (call) => {
      const { id } = webhookOf(call, services)
      return webhookResource.answer(await services.webhooks.list.change(call.caller, id, webhookChanges(call.body)))
    },
  }),
  at.remove('webhooks.delete', '/{id}', 'Delete a webhook', {
    description: 'Cancels pending deliveries.',
    answer: ['The webhook is deleted.', deletedAnswer('webhook', 'DeletedWebhook')],
    handle: async (call) => {
      const { id } = webhookOf(call, services)
      await services.webhooks.list.remove(call.caller, id)
      return { object: 'webhook' as const, id, deleted: true as const }
    },
  }),
  at.post('webhooks.rotate_signing_secret', '/{id}/signing-secret/rotate', 'Rotate the secret of a webhook', {
    aliases: [{ id: 'webhooks.rotate_secret', path: '/api/webhooks/{id}/rotate-secret' }],
    idempotency: 'secret',
    body: { schema: rotationRequest, optional: true },
    answer: [
      'The new secret, valid at once.',
      z
        .object({
          object: z.literal('webhook'),
          id: z.string(),
          signing_secret: z.string(),
          previous_expires_at: timeAnswer.nullable(),
        })
        .meta({ id: 'RotatedSecret' }),
    ],
    refuses: ['rotation_in_progress'],
    handle: async (call) => {
      const { overlap_seconds: seconds, force } = call.body
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
  at.post('webhooks.test', '/{id}/test', 'Post a sample to a webhook', {
    description: 'At once and without retries, with the header `x-service-test: true`.',
    body: { schema: testRequest, optional: true },
    answer: ['The result.', webhookTest.schema],
    refuses: ['invalid_event_type'],
    handle: async (call) => {
      const { type } = call.body
      const webhook = webhookOf(call, services)
      const post = () => services.webhooks.sendSample(webhook, type)
      return webhookTest.answer(await services.outgoingRequests.run(call.caller.accountId, post))
    },
  }),
  ...webhookDeliveryOperations(services),
  ...webhookReplayOperations(services),
]

const at = operationsAt({
  path: '/api/webhooks',
  tag: 'Webhooks',
  permission: { read: 'read_access', change: 'full_access' },
  sandbox: true,
})

/** What a sample came to, as the API and the command line show it. */
export const webhookTest = resource<PostResult>('WebhookTest')({
  object: 'webhook_test',
  delivered: [z.boolean(), isSuccess],
  http_status_code: [z.int().nullable(), 'statusCode'],
  duration_ms: z.int(),
  response: z.string().nullable(),
  error: z.string().nullable(),
})

function missingUrl(): SternaError {
  const message = 'The `url` field is missing. It says where to post events.'
  return new SternaError('missing_required_field', message, { faults: [{ field: 'url', code: 'missing', message, help: null }] })
}

const inUse = async (webhook: Webhook, { webhooks }: Services): Promise<WebhookInUse> => ({
  ...webhook,
  stats: await webhooks.history.stats(webhook.id),
})
