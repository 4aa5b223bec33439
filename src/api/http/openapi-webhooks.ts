import { webhookBodies } from '../resource/event-schema.ts'
import type { JsonSchema, SchemaComponents } from './openapi-schema.ts'

const header = (name: string, description: string, required: boolean, schema: JsonSchema = { type: 'string' }): JsonSchema => ({
  name,
  in: 'header',
  required,
  description,
  schema,
})

const headers = [
  header('user-agent', '`Sterna-Webhooks/1`', true),
  header(
    'x-service-signature',
    'HMAC-SHA256 of the bytes of the body, in hex. The key is the whole signing secret as text, `whsec_` included.',
    true,
    { type: 'string', pattern: '^[0-9a-f]{64}$' },
  ),
  header('x-service-signature-previous', 'The same with the previous secret, as long as it is valid after a rotation.', false, {
    type: 'string',
    pattern: '^[0-9a-f]{64}$',
  }),
  header('webhook-id', 'The id of the event, the same in every attempt and replay: ignore those you have already seen.', true),
  header('webhook-timestamp', 'When this attempt was made, in seconds since 1970.', true),
  header(
    'webhook-signature',
    'Standard Webhooks: `v1,` and the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` in base64, one for each valid secret. ' +
      'The key is what follows `whsec_`, decoded.',
    true,
  ),
  header('x-service-event', 'The type of the event; not signed.', true),
  header('x-service-delivery', 'The id of this delivery; not signed.', true),
  header('x-service-attempt', 'The number of the attempt, from 1; not signed.', true),
  header('x-service-test', '`true` if the event is a sample and never happened.', false),
]

/** As the settings have it, ms. */
export interface WebhookPosting {
  timeout: number
  retrySchedule: readonly number[]
}

function postingText({ timeout, retrySchedule }: WebhookPosting): string {
  const delays = new Intl.ListFormat('en').format(retrySchedule.map(durationText))
  const failure = `Anything but a 2xx within ${durationText(timeout)} is a failure`
  return retrySchedule.length === 0
    ? `${failure}, and is not tried again.`
    : `${failure}, and is tried again ${delays} after the attempt before.`
}

/** What Sterna posts to a webhook, for each event type. */
export function webhookObjects(components: SchemaComponents, posting: WebhookPosting): JsonSchema {
  return Object.fromEntries(
    webhookBodies.map(({ type, standard, extended }) => [
      type,
      {
        post: {
          operationId: `webhook.${type}`,
          tags: ['Webhooks'],
          summary: `${type} happened`,
          description:
            `One event of one recipient. ${postingText(posting)} With the payload of another service the body is as that service ` +
            'documents it, and its signature stands beside ours.',
          security: [],
          parameters: headers,
          requestBody: {
            required: true,
            content: {
              'application/json': { schema: { anyOf: [components.add(standard, 'output'), components.add(extended, 'output')] } },
            },
          },
          responses: { '2XX': { description: 'Received.' } },
        },
      },
    ]),
  )
}

const units = [
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const

/** A duration in the largest unit that it is a whole number of: `5 minutes`, `24 hours`. */
function durationText(ms: number): string {
  const [unit, unitMs] = units.find(([, each]) => ms % each === 0) ?? (['second', 1000] as const)
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(ms / unitMs)
}
