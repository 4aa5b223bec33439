import { z } from 'zod'
import { publicEventTypes, webhookEventTypes, type EventType } from '../../mail/event/event-type.ts'
import { recipientTypes } from '../../mail/message/envelope.ts'
import { unsubscribeMethods } from '../../mail/suppression/unsubscribe.ts'
import { bounceCategories } from '../../platform/metrics/metric-table.ts'
import { causeCodes, explanationOwners } from '../../readers/explanation/causes.ts'
import { refusalPhases } from '../../mail/bounce-parser/refusal.ts'
import { timeAnswer } from '../operation/resource.ts'

const subject = {
  email_id: z.string().describe('The email that it happened to.'),
  to: z.string().describe('The recipient it is about, as a bare address.'),
  subject: z.string(),
}
const client = {
  ip_address: z.string().nullable(),
  user_agent: z.string().nullable(),
  bot: z.boolean().describe('True if a machine did it, such as a mail filter or a privacy proxy.'),
  bot_reason: z.string().nullable().optional().describe('How the machine was recognised; only in the log and in extended webhooks.'),
  bot_confidence: z.number().min(0).max(1).optional().describe('As `bot_reason`.'),
}

const phase = z
  .enum(refusalPhases)
  .exclude(['report'])
  .optional()
  .describe('What the server refused: the connection (`banner`), a command, or the content (`dot`). Absent if that is not known.')

const cause = {
  cause: z.enum(causeCodes).optional().describe('Why, as in the `explanation` of the recipient; only in webhooks.'),
  owner: z.enum(explanationOwners).optional().describe('Who can do something about it, as there; only in webhooks.'),
}

const reportedBy = z
  .string()
  .optional()
  .describe('The service that reported it, if only the smarthost knows; only in the log and in extended webhooks.')

/** What each event type adds to `email_id`, `to` and `subject`. */
const ownData = {
  'email.queued': { queued_at: timeAnswer },
  'email.deferred': { deferred_at: timeAnswer, next_attempt_at: timeAnswer, reason: z.string(), phase, ...cause },
  'email.relayed': { relayed_at: timeAnswer.describe('When the smarthost accepted the message.') },
  'email.canceled': { canceled_at: timeAnswer },
  'email.sent': { sent_at: timeAnswer.describe('When the first attempt to deliver began.') },
  'email.delivered': { delivered_at: timeAnswer.describe("When the recipient's server accepted the message."), reported_by: reportedBy },
  'email.opened': { opened_at: timeAnswer, ...client },
  'email.clicked': { clicked_at: timeAnswer, link: z.string().describe('As written in the email.'), ...client },
  'email.rejudged': {
    event_id: z.string().describe('The event that turned out to come from a machine.'),
    type: z.enum(['email.opened', 'email.clicked']).describe('The type of that event.'),
    at: timeAnswer.describe('When it happened.'),
    bot: z.literal(true),
    bot_reason: z.string().nullable(),
    bot_confidence: z.number().min(0).max(1),
  },
  'email.bounced': {
    bounced_at: timeAnswer,
    bounce_type: z.enum(['hard', 'soft']).describe('hard: the address or its domain does not exist, or accepts no mail.'),
    bounce_category: z.enum(bounceCategories),
    smtp_code: z.int().nullable(),
    enhanced_status: z.string().nullable().describe('The enhanced status code of RFC 3463, such as 5.1.1.'),
    reason: z
      .string()
      .max(1000)
      .describe('The reply or reason; starts with "Reported twice as unknown, on" if a second soft bounce suppresses the address.'),
    phase,
    reported_by: reportedBy,
    ...cause,
  },
  'email.complained': { complained_at: timeAnswer, feedback_type: z.string(), reported_by: z.string().nullable() },
  'email.unsubscribed': { unsubscribed_at: timeAnswer, method: z.enum(unsubscribeMethods) },
} satisfies Record<EventType, z.ZodRawShape>

/** What `data` has in addition in a webhook with `payload: extended`. */
const extension = {
  from: z.string().nullable(),
  message_id: z.string().nullable(),
  recipient_type: z.enum(recipientTypes).nullable(),
  tags: z.array(z.object({ name: z.string(), value: z.string() })),
  metadata: z.record(z.string(), z.string()),
}

/** `EmailBounced` of `email.bounced`. */
const schemaName = (type: EventType): string => type.replace(/(?:^|\.)(\w)/g, (_, first: string) => first.toUpperCase())

const eventOf = (type: EventType, additions: z.ZodRawShape = {}, suffix = '') =>
  z
    .object({
      id: z.string().describe('The same in the log, in every webhook and in every attempt. Ids sort in the order of the log.'),
      type: z.literal(type),
      created_at: timeAnswer.describe('When it was recorded; of email.sent, which is recorded with the outcome, when the attempt began.'),
      data: z.object({ ...subject, ...ownData[type], ...additions }),
      sandbox: z.literal(true).optional().describe('Only where it happened in the sandbox.'),
    })
    .meta({ id: `${schemaName(type)}${suffix}` })

const types = Object.keys(ownData) as EventType[]
const schemas = Object.fromEntries(types.map((type) => [type, eventOf(type)])) as Record<EventType, ReturnType<typeof eventOf>>

/** An event as the log shows it, including those that webhooks do not get. */
export const eventSchema = z
  .discriminatedUnion('type', Object.values(schemas) as [ReturnType<typeof eventOf>, ...ReturnType<typeof eventOf>[]])
  .meta({ id: 'Event' })

/** The bodies of webhooks, including those with `payload: extended`. */
export const webhookBodies = webhookEventTypes.map((type) => ({
  type,
  standard: schemas[type],
  extended: eventOf(type, extension, 'Extended'),
}))

/** Those of them that the public log has. */
export const publicBodies = webhookBodies.filter(({ type }) => (publicEventTypes as readonly string[]).includes(type))
