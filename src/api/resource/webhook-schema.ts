import { z } from 'zod'
import { webhookEventType, webhookObject, type WebhookFields } from '../../notify/webhook/webhook-object.ts'

export const webhookRequest = z.object({
  ...webhookObject.changes,
  endpoint: z.string().optional().describe('Another name for `url`, which takes precedence if both are given.'),
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

export const testRequest = z.object({ type: webhookEventType.default('email.delivered').describe('Default: `email.delivered`.') })

/** The fields of a webhook that a body gives. */
export const webhookChanges = ({ endpoint, ...given }: z.output<typeof webhookRequest>): Partial<WebhookFields> =>
  webhookObject.membersIn({ ...given, url: given.url ?? endpoint })
