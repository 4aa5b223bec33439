import { z } from 'zod'
import { emailStatuses } from '../../message/email-status.ts'
import { recipientStates } from '../../queue/recipient-state.ts'
import { timeAnswer } from '../time-field.ts'
import { explanationOwners } from './explain-attempt.ts'

const recipientType = z.enum(['to', 'cc', 'bcc'])
const mailboxes = z.array(z.string()).describe('Each `a@b.example` or `Name <a@b.example>`.')

/** What a request to send is answered. */
export const sentEmailAnswer = z
  .object({
    object: z.literal('email'),
    id: z.string(),
    status: z.enum(['queued', 'scheduled', 'suppressed']),
    created_at: timeAnswer,
    to: z.array(z.string()).describe('Bare addresses.'),
    recipients: z.array(
      z.object({
        email: z.string(),
        type: recipientType,
        status: z.enum(['queued', 'scheduled', 'suppressed']).describe('suppressed: on the suppression list, so nothing is sent to it.'),
      }),
    ),
  })
  .meta({ id: 'SentEmail' })

/** What a request to send several is answered. */
export const sentBatchAnswer = z
  .object({
    data: z.array(z.object({ id: z.string() })).describe('The emails that were taken, in the order of the request.'),
    errors: z
      .array(
        z.object({
          index: z.int().describe('The place in the request, from 0.'),
          message: z.string(),
          name: z.string().describe('The name of the error.'),
        }),
      )
      .optional()
      .describe('Those that were not; in permissive mode only.'),
  })
  .meta({ id: 'SentBatch' })

export const emailItemAnswer = z
  .object({
    object: z.literal('email'),
    id: z.string(),
    message_id: z.string().describe('The Message-ID field, with its angle brackets.'),
    from: z.string(),
    to: mailboxes,
    cc: mailboxes.nullable(),
    bcc: z.array(z.string()).nullable().describe('Bare addresses.'),
    reply_to: mailboxes.nullable(),
    subject: z.string(),
    metadata: z.record(z.string(), z.string()),
    template_id: z.string().nullable(),
    domain_id: z.string().nullable().describe('The domain that signed it; null in the sandbox.'),
    source: z.enum(['api', 'smtp', 'compat']),
    status: z.enum(emailStatuses).describe('Derived from the recipients.'),
    last_event: z.string().describe('The newest event in the words of other services, such as `delivery_delayed`.'),
    scheduled_at: timeAnswer.nullable(),
    created_at: timeAnswer,
  })
  .meta({ id: 'EmailItem' })

const recipientAnswer = z
  .object({
    email: z.string(),
    type: recipientType,
    status: z.enum(recipientStates),
    attempts: z.int(),
    next_attempt_at: timeAnswer.nullable(),
    last_response: z.string().nullable().describe("The receiving server's last words, or why there were none."),
    smtp_code: z.int().nullable(),
    enhanced_status: z.string().nullable().describe('Of RFC 3463, such as 5.1.1.'),
    delivered_at: timeAnswer.nullable(),
    bounced_at: timeAnswer.nullable(),
    opened_at: timeAnswer.nullable(),
    open_count: z.int(),
    clicked_at: timeAnswer.nullable(),
    click_count: z.int(),
    complained_at: timeAnswer.nullable(),
    unsubscribed_at: timeAnswer.nullable(),
  })
  .meta({ id: 'EmailRecipient' })

export const emailAnswer = emailItemAnswer
  .extend({
    html: z.string().nullable().describe('Null where there is none, and once the content is no longer kept.'),
    text: z.string().nullable().describe('As `html`.'),
    tags: z.array(z.object({ name: z.string(), value: z.string() })),
    tracking: z
      .object({ opens: z.boolean(), clicks: z.boolean(), anonymous: z.boolean() })
      .describe('What holds for it: what it asked for, else its domain.'),
    recipients: z.array(recipientAnswer),
  })
  .meta({ id: 'Email' })

/** What a change of an email is answered. */
export const changedEmailAnswer = z.object({ object: z.literal('email'), id: z.string() }).meta({ id: 'ChangedEmail' })

export const attemptAnswer = z
  .object({
    object: z.literal('attempt'),
    id: z.string(),
    email_id: z.string(),
    recipient: z.string(),
    started_at: timeAnswer,
    duration_ms: z.int(),
    outcome: z.enum(['delivered', 'deferred', 'bounced']),
    mx_host: z.string().nullable(),
    address: z.string().nullable().describe('The IP address that was connected to.'),
    tls: z
      .object({ version: z.string(), cipher: z.string(), verified: z.boolean().describe('Whether the certificate is valid for the host.') })
      .nullable()
      .describe('Null without TLS.'),
    dkim_selectors: z.array(z.string()),
    reply: z.string().nullable(),
    smtp_code: z.int().nullable(),
    enhanced_status: z.string().nullable(),
    transcript: z
      .array(z.object({ ms: z.int().describe('Since the attempt began.'), side: z.enum(['client', 'server']), line: z.string() }))
      .describe('The SMTP dialogue without the message.'),
    explanation: z.object({
      cause: z.string(),
      owner: z.enum(explanationOwners).describe('Who can do something about it; `us` is this server and its operator.'),
      advice: z.string(),
    }),
  })
  .meta({ id: 'Attempt' })

export const attachmentAnswer = z
  .object({
    object: z.literal('attachment'),
    id: z.string(),
    filename: z.string().nullable(),
    content_type: z.string(),
    content_disposition: z.enum(['attachment', 'inline']),
    content_id: z.string().nullable(),
    size: z.int().describe('Bytes.'),
    download_url: z.string().describe('Gives the content to whoever sends an API key with the request.'),
  })
  .meta({ id: 'Attachment' })
