import { z } from 'zod'
import type { CheckParams } from '../../platform/errors.ts'
import { managedObject, type MembersOf } from '../../platform/managed-object.ts'
import { webhookEventTypes } from '../../mail/event/event-type.ts'
import { isWebhookEventType } from './event-subscription.ts'
import { payloadKinds } from './payload-kind.ts'

// Without \p{Cc}, which needs the flag u: the clients that generators make leave that out.
// oxlint-disable-next-line no-control-regex
const [nameWithoutColon, printable] = [/^[^:\0-\x1f\x7f-\x9f]*$/, /^[^\0-\x1f\x7f-\x9f]*$/]

/** RFC 7617. */
const basicAuth = z.object({
  username: z
    .string()
    .min(1)
    .max(255)
    .regex(nameWithoutColon, 'must not contain a colon or control characters')
    .describe('What each request shows as its user name.'),
  password: z.string().min(1).max(255).regex(printable, 'must not contain control characters').describe('The password for it.'),
})
export type BasicAuth = z.output<typeof basicAuth>

/** An event that a webhook can subscribe to. */
export const webhookEventType = z
  .string()
  .meta({ enum: webhookEventTypes })
  .transform((name, ctx) => {
    if (isWebhookEventType(name)) return name
    const params: CheckParams = { code: 'invalid_event_type', error: 'invalid_event_type' }
    ctx.addIssue({ code: 'custom', message: `must be one of ${webhookEventTypes.join(', ')}`, params })
    return z.NEVER
  })

/** Without duplicates, in the order of `webhookEventTypes`. */
export const webhookEvents = z
  .array(webhookEventType)
  .min(1)
  .max(100)
  .transform((names) => webhookEventTypes.filter((type) => names.includes(type)))

/** What the owner of a webhook sets. */
export const webhookObject = managedObject({
  url: {
    type: z.string(),
    shown: z.string().describe('Without its query for keys without full access.'),
    doc: 'Where events are posted: absolute, http or https.',
    ofUsers: true,
  },
  sandbox: {
    type: z.boolean(),
    doc: 'Whether it gets what happens in the sandbox, and nothing else. One URL may have a webhook for each.',
    initial: false,
    once: 'Add another webhook for the other mode',
  },
  events: {
    type: webhookEvents.nullable(),
    shown: z.array(z.enum(webhookEventTypes)).describe('What is posted.'),
    doc: 'What is posted.',
    initial: null,
    usual: 'all but `email.deferred`; with the payload of another service that too',
  },
  description: { type: z.string().max(500).nullable(), doc: 'What it is for.', initial: null, ofUsers: true },
  payload: {
    type: z.enum(payloadKinds),
    doc:
      'What a post looks like. With the name of a service, events come as its webhooks do, with its signature beside ours; what it ' +
      'has no word for is not sent.',
    initial: 'standard',
  },
  include_bots: { type: z.boolean(), doc: 'Whether opens and clicks by machines are posted too.', initial: false },
  status: { type: z.enum(['enabled', 'disabled']), doc: 'Whether events are posted.', initial: 'enabled' },
  basic_auth: {
    type: basicAuth.nullable(),
    shown: {
      schema: z.object({ username: z.string() }).nullable().describe('The password is not shown.'),
      convert: (stored: BasicAuth | null) => stored && { username: stored.username },
    },
    doc: 'What each request shows as its `Authorization`.',
    initial: null,
    secrets: ['password'],
  },
})

/** What an owner can change. Null events: the usual ones. */
export type WebhookFields = Omit<MembersOf<typeof webhookObject.fields>, 'sandbox'>
