import { z } from 'zod'
import { publicEventTypes } from '../../event/event-type.ts'
import { isPublicEventType, subscribedEvents } from '../../webhook/event-subscription.ts'
import type { WebhookFields } from '../../webhook/webhook-list.ts'
import { given } from '../given.ts'
import type { CheckParams } from '../validate.ts'

export const webhookRequest = z.object({
  url: z.string().optional().describe('Absolute, http or https.'),
  endpoint: z.string().optional().describe('Another name for `url`; where both are given, `url` counts.'),
  events: z
    .array(z.string().meta({ enum: publicEventTypes }))
    .max(100)
    .meta({ minItems: 1 })
    .nullish()
    .describe('All of them if left out or null.'),
  description: z.string().max(500).nullish(),
  status: z.enum(['enabled', 'disabled']).optional(),
  payload: z.enum(['standard', 'extended']).optional(),
  include_bots: z.boolean().optional().describe('Whether opens and clicks by machines are posted too; false if left out.'),
})

const daySeconds = 86_400
export const rotationRequest = z.object({
  overlap_seconds: z
    .int()
    .min(0)
    .max(7 * daySeconds)
    .default(daySeconds)
    .describe('For so long `webhook-signature` is made with the old secret too.'),
  force: z.boolean().default(false).describe('Also while the overlap of an earlier rotation is open.'),
})

const eventType = z
  .string()
  .meta({ enum: publicEventTypes })
  .transform((name, ctx) => {
    if (isPublicEventType(name)) return name
    const params: CheckParams = { code: 'invalid_event_type', error: 'invalid_event_type' }
    ctx.addIssue({ code: 'custom', message: `must be one of ${publicEventTypes.join(', ')}`, params })
    return z.NEVER
  })
export const testRequest = z.object({ type: eventType.default('email.delivered').describe('`email.delivered` if left out.') })

/** What a body says of a webhook, as far as it says anything. */
export const webhookChanges = ({
  url,
  endpoint,
  events,
  include_bots: includeBots,
  ...same
}: z.output<typeof webhookRequest>): Partial<WebhookFields> =>
  given({ ...same, url: url ?? endpoint, events: events === undefined ? undefined : subscribedEvents(events), includeBots })
