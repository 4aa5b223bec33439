import { z } from 'zod'
import { webhookEventTypes } from '../../../mail/event/event-type.ts'
import { isWebhookEventType, subscribedEvents } from '../../../notify/webhook/event-subscription.ts'
import { payloadKinds } from '../../../notify/webhook/payload-kind.ts'
import type { WebhookFields } from '../../../notify/webhook/webhook-list.ts'
import { given } from '../given.ts'
import type { CheckParams } from '../validate.ts'

// Without \p{Cc}, which needs the flag u: the clients that generators make leave that out.
// oxlint-disable-next-line no-control-regex
const [nameWithoutColon, printable] = [/^[^:\0-\x1f\x7f-\x9f]*$/, /^[^\0-\x1f\x7f-\x9f]*$/]

const basicAuth = z.object({
  username: z.string().min(1).max(255).regex(nameWithoutColon, 'must not contain a colon or control characters'),
  password: z.string().min(1).max(255).regex(printable, 'must not contain control characters'),
})

export const webhookRequest = z.object({
  url: z.string().optional().describe('Absolute, http or https.'),
  endpoint: z.string().optional().describe('Another name for `url`, which takes precedence if both are given.'),
  events: z
    .array(z.string().meta({ enum: webhookEventTypes }))
    .max(100)
    .meta({ minItems: 1 })
    .nullish()
    .describe('All but `email.deferred` if left out or null; with the payload of another service that too.'),
  description: z.string().max(500).nullish(),
  status: z.enum(['enabled', 'disabled']).optional(),
  payload: z
    .enum(payloadKinds)
    .optional()
    .describe(
      '`standard` if left out. With the name of a service, events come as its webhooks do, with its signature beside ours; what it ' +
        'has no word for is not sent.',
    ),
  basic_auth: basicAuth.nullish().describe('What each request shows as its `Authorization`; null for nothing.'),
  include_bots: z.boolean().optional().describe('Whether opens and clicks by machines are posted too; default: false.'),
})

const daySeconds = 86_400
export const rotationRequest = z.object({
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

const eventType = z
  .string()
  .meta({ enum: webhookEventTypes })
  .transform((name, ctx) => {
    if (isWebhookEventType(name)) return name
    const params: CheckParams = { code: 'invalid_event_type', error: 'invalid_event_type' }
    ctx.addIssue({ code: 'custom', message: `must be one of ${webhookEventTypes.join(', ')}`, params })
    return z.NEVER
  })
export const testRequest = z.object({ type: eventType.default('email.delivered').describe('Default: `email.delivered`.') })

/** The fields of a webhook that a body gives. */
export const webhookChanges = ({
  url,
  endpoint,
  events,
  include_bots: includeBots,
  basic_auth: basicAuth,
  ...same
}: z.output<typeof webhookRequest>): Partial<WebhookFields> =>
  given({ ...same, url: url ?? endpoint, events: events === undefined ? undefined : subscribedEvents(events), includeBots, basicAuth })
