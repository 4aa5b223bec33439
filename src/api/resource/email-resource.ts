import { z } from 'zod'
import { tlsPolicies } from '../../platform/config/recipient-tls.ts'
import { attemptSts, attemptTls } from './attempt-tls.ts'
import { readTlsText } from '../../mail-out/delivery/transport-facts.ts'
import { policySources } from '../../mail-out/delivery/transport-policy.ts'
import { causeCodes, explanationOwners } from '../../readers/explanation/causes.ts'
import { mxProviderOf } from '../../mail-out/delivery/mx-provider.ts'
import { explainAttempt } from '../../readers/explanation/explain-attempt.ts'
import { factsOfAttempt } from '../../readers/explanation/facts-of-attempt.ts'
import { isoTime, isoTimeOrNull } from '../../platform/iso-time.ts'
import { deriveStatus, emailStatuses, lastEventOf, type NewestEvent } from '../../mail/message/email-status.ts'
import type { AttemptRow, EventRow, LastFailure, RecipientRow } from '../../mail/message/message-reader.ts'
import type { MessageRow } from '../../mail/message/message-store.ts'
import { priorities, priorityOf, requireTlsOf, storedTransfer } from '../../mail/message/transfer-options.ts'
import type { Tag } from '../../mail/message/send-limits.ts'
import { storedTracking } from '../../mail/message/tracking-options.ts'
import type { AcceptedBatch } from '../../mail-in/submission/accept-batch.ts'
import type { Accepted } from '../../mail-in/submission/admission.ts'
import type { SuppressionRow } from '../../mail/suppression/suppression-list.ts'
import type { ParsedAttachment } from '../../mail/message/message-parser.ts'
import type { eventSchema } from './event-schema.ts'
import { referenceTo, resource, time, timeAnswer } from '../operation/resource.ts'
import { bounceIn, emailRecipient, explainRecipient, isLost, recipientType } from './email-recipient-resource.ts'
import { explanationResource } from './explanation-resource.ts'

const mailboxes = z.array(z.string()).describe('Each `a@b.example` or `Name <a@b.example>`.')

const sentStatus = z.enum(['queued', 'scheduled', 'suppressed'])

/** The response to a request to send; a replay builds the same from what was kept. */
export const sentEmail = resource<Accepted>('SentEmail')({
  object: 'email',
  id: [z.string(), 'messageId'],
  status: sentStatus,
  created_at: time(),
  to: [
    z.array(z.string()).describe('Bare addresses.'),
    ({ recipients }) => recipients.filter(({ type }) => type === 'to').map(({ address }) => address),
  ],
  recipients: [
    z.array(
      z.object({
        email: z.string(),
        type: recipientType,
        status: sentStatus.describe('suppressed: on the suppression list, so nothing is sent to it.'),
      }),
    ),
    ({ recipients }) => recipients.map(({ address, type, state }) => ({ email: address, type, status: state })),
  ],
  priority: [
    z.enum(priorities).describe('What it got: lower than what was asked for beyond the limit of the account, or if it is scheduled.'),
    ({ priority = 'normal' }) => priority,
  ],
})

/** The response to a request to send several emails. */
export const sentBatchAnswer = z
  .object({
    data: z.array(z.object({ id: z.string() })).describe('The accepted emails, in the order of the request.'),
    errors: z
      .array(
        z.object({
          index: z.int().describe('The position in the request, from 0.'),
          message: z.string(),
          name: z.string().describe('The name of the error.'),
        }),
      )
      .optional()
      .describe('The refused emails; only in permissive mode.'),
  })
  .meta({ id: 'SentBatch' })

/** A message with data from other tables. */
interface EmailServices {
  message: MessageRow
  recipients: RecipientRow[]
  newestEvent: NewestEvent | undefined
  /** The last bounce or deferral of each recipient, by its id. */
  lastFailures: ReadonlyMap<string, LastFailure>
}

const statusOf = ({ recipients }: EmailServices) => deriveStatus(recipients.map(({ state }) => state))

/** Why somebody got no mail, or waits for it. */
function reasonOf({ recipients, lastFailures }: EmailServices) {
  const lost = recipients.filter(({ state }) => isLost(state))
  // A suppressed recipient, who was left out from the start, says least of the email.
  const one = lost.find(({ state }) => state !== 'suppressed') ?? lost[0] ?? recipients.find(({ state }) => state === 'deferred')
  if (!one) return null
  const failure = lastFailures.get(one.id)
  const bounce = bounceIn(one, failure)
  const { code, owner } = explainRecipient(one, failure)
  return { category: bounce?.bounce_category ?? null, response: bounce?.reason ?? one.last_response, code, owner }
}

const statesOf = ({ recipients }: EmailServices): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(recipients, ({ state }) => state)].map(([state, { length }]) => [state, length]))

const dueTimes = ({ recipients }: EmailServices): number[] => recipients.flatMap(({ due_at: at }) => (at === null ? [] : [at]))

/** The time, epoch ms, as retention counts it; null while somebody waits. */
function contentExpiresAt(email: EmailServices & { contentKeptMs: number }): number | null {
  if (dueTimes(email).length > 0) return null
  const ends = email.recipients.map((row) => row.bounced_at ?? row.delivered_at ?? row.sent_at ?? 0)
  return Math.max(email.message.created_at, ...ends) + email.contentKeptMs
}

/** A list as JSON; null if it is empty. */
const listOrNull = (json: string): string[] | null => orNull(JSON.parse(json) as string[])

const orNull = <T>(list: T[]): T[] | null => (list.length === 0 ? null : list)

/** An email in a list. */
export const emailItem = resource<EmailServices>('EmailItem')({
  object: 'email',
  id: [z.string(), ({ message }) => message.id],
  message_id: [z.string().describe('The Message-ID field, including the angle brackets.'), ({ message }) => message.message_id_header],
  from: [z.string(), ({ message }) => message.header_from],
  to: [mailboxes, ({ message }) => JSON.parse(message.header_to) as string[]],
  cc: [mailboxes.nullable(), ({ message }) => listOrNull(message.header_cc)],
  bcc: [
    z.array(z.string()).nullable().describe('Bare addresses.'),
    ({ recipients }) => orNull(recipients.filter(({ type }) => type === 'bcc').map((row) => row.forward_path)),
  ],
  reply_to: [mailboxes.nullable(), ({ message }) => listOrNull(message.reply_to)],
  subject: [z.string(), ({ message }) => message.subject],
  metadata: [z.record(z.string(), z.string()), ({ message }) => JSON.parse(message.metadata) as Record<string, string>],
  template_id: [z.string().nullable(), ({ message }) => message.template_id],
  domain_id: [z.string().nullable().describe('The domain that signed it; null in the sandbox.'), ({ message }) => message.domain_id],
  sandbox: [z.boolean().describe('Whether it stays in the sandbox: nobody gets it.'), ({ message }) => message.sandbox === 1],
  // Mail of the server's own belongs to an account that nobody can read.
  source: [z.enum(['api', 'smtp', 'compat']), ({ message }) => message.source as Exclude<MessageRow['source'], 'system'>],
  status: [z.enum(emailStatuses).describe('Derived from the states of the recipients.'), statusOf],
  last_event: [
    z.string().describe('The newest event in the terms of other services, such as `delivery_delayed`.'),
    (email) => lastEventOf(email.newestEvent, statusOf(email)),
  ],
  recipient_count: [z.int(), ({ recipients }) => recipients.length],
  recipient_states: [z.record(z.string(), z.int()).describe('How many recipients are in which state.'), statesOf],
  reason: [
    z
      .object({
        category: z.string().nullable().describe('As `bounce_category` in `email.bounced`; null for somebody who waits.'),
        response: z.string().nullable(),
        code: z.enum(causeCodes).describe('The cause, as in the `explanation` of the recipient.'),
        owner: z.enum(explanationOwners).describe('As there.'),
      })
      .nullable()
      .describe('Why a recipient got nothing, or else has to wait; null if there is none.'),
    reasonOf,
  ],
  size: [z.int().describe('Bytes.'), ({ message }) => message.size],
  scheduled_at: [timeAnswer.nullable(), ({ message }) => isoTimeOrNull(message.scheduled_at)],
  created_at: [timeAnswer, ({ message }) => isoTime(message.created_at)],
})

const noTracking = { opens: false, clicks: false, anonymous: false }

/** An email with everything that is known about it. */
export const emailResource = resource<
  EmailServices & {
    bodies: { html: string | null; text: string | null }
    contentKeptMs: number
    /** By address. */
    stopping: ReadonlyMap<string, SuppressionRow>
  }
>('Email')({
  ...emailItem.fields,
  next_attempt_at: [
    timeAnswer.nullable().describe('The next of the times at which somebody is tried; null if nobody waits.'),
    (email) => isoTimeOrNull(dueTimes(email).reduce<number | null>((first, at) => Math.min(first ?? at, at), null)),
  ],
  content_expires_at: [
    timeAnswer.nullable().describe('When the content is removed (`content_retention`); null while somebody waits for it.'),
    (email) => isoTimeOrNull(contentExpiresAt(email)),
  ],
  html: [z.string().nullable().describe('Null if there is none, and once the content is no longer kept.'), ({ bodies }) => bodies.html],
  text: [z.string().nullable().describe('As `html`.'), ({ bodies }) => bodies.text],
  tags: [z.array(z.object({ name: z.string(), value: z.string() })), ({ message }) => JSON.parse(message.tags) as Tag[]],
  tracking: [
    z
      .object({ opens: z.boolean(), clicks: z.boolean(), anonymous: z.boolean() })
      .describe('The tracking in effect: what the email requested, else the setting of its domain.'),
    ({ message }) => storedTracking(message.tracking) ?? noTracking,
  ],
  priority: [
    z.enum(priorities).describe('What it got: lower than what was asked for beyond the limit of the account, or if it is scheduled.'),
    ({ message }) => priorityOf(storedTransfer(message.transfer)),
  ],
  require_tls: [
    z.boolean().nullable().describe('What was asked of TLS: see require_tls of a new email. Null: nothing.'),
    ({ message }) => requireTlsOf(message.transfer),
  ],
  recipients: [
    z.array(emailRecipient.schema),
    ({ recipients, lastFailures, stopping }) =>
      recipients.map((row) =>
        emailRecipient.answer({
          ...row,
          failure: lastFailures.get(row.id),
          stopping: stopping.get(row.forward_path),
        }),
      ),
  ],
})

/** The response to a change of an email. */
export const changedEmailAnswer = referenceTo('email').meta({ id: 'ChangedEmail' })

/** One attempt to deliver, with the dialogue and an explanation. */
export const attemptResource = resource<AttemptRow>('Attempt')({
  object: 'attempt',
  id: z.string(),
  email_id: [z.string(), 'message_id'],
  recipient: [z.string(), 'forward_path'],
  started_at: time(),
  duration_ms: z.int(),
  outcome: z.enum(['delivered', 'deferred', 'bounced']),
  mx_host: z.string().nullable(),
  address: z.string().nullable().describe('The IP address of the host.'),
  source_address: z
    .string()
    .nullable()
    .describe('Our address that the connection came from; null unless `delivery.source_addresses` is set.'),
  tls: [attemptTls, ({ tls }) => readTlsText(tls).tls],
  tls_policy: [
    z.enum(tlsPolicies).nullable().describe('What was required of the connection; null if the attempt ended before that was known.'),
    ({ tls }) => readTlsText(tls).policy,
  ],
  tls_policy_source: [
    z
      .enum(policySources)
      .nullable()
      .describe(
        "Who required it: `operator`, for the recipient's domain; `sender`, the sender's domain; `smarthost`, the settings of the smarthost; `mta_sts`, what the recipient's domain publishes; `dane`, the TLSA records of the host; `message`, `require_tls`. Null: nobody.",
      ),
    ({ tls }) => readTlsText(tls).source,
  ],
  mta_sts: [attemptSts, ({ tls }) => readTlsText(tls).sts],
  plain_because: [
    z
      .string()
      .nullable()
      .describe('How TLS failed or was refused, if the host offers it and the mail was sent in plain text all the same.'),
    ({ tls }) => readTlsText(tls).plainBecause,
  ],
  dkim_selectors: [z.array(z.string()), ({ selectors }) => (selectors === null || selectors === '' ? [] : selectors.split(','))],
  reply: z.string().nullable(),
  smtp_code: z.int().nullable(),
  enhanced_status: z.string().nullable(),
  transcript: [
    z
      .array(z.object({ ms: z.int().describe('Time since the attempt began.'), side: z.enum(['client', 'server']), line: z.string() }))
      .describe('The SMTP dialogue without the message content.'),
    ({ transcript }) =>
      (JSON.parse(transcript) as [number, 'c' | 's', string][]).map(([ms, side, line]) => ({
        ms,
        side: side === 'c' ? ('client' as const) : ('server' as const),
        line,
      })),
  ],
  explanation: [explanationResource.schema, (row) => explanationResource.answer(explainAttempt(factsOfAttempt(row, mxProviderOf)))],
})

/** Attachments are identified by position, from 1: a stored message does not change. */
export const attachmentResource = resource<ParsedAttachment & { place: number; downloadUrl: string }>('Attachment')({
  object: 'attachment',
  id: [z.string(), ({ place }) => String(place + 1)],
  filename: z.string().nullable(),
  content_type: z.string(),
  content_disposition: [z.enum(['attachment', 'inline']), 'disposition'],
  content_id: z.string().nullable(),
  size: z.int().describe('Bytes.'),
  download_url: z.string().describe('Returns the content if the request has an API key.'),
})

/** An event as webhooks carry it; the log also shows those that webhooks do not. */
export const eventObject = <S extends z.ZodType = typeof eventSchema>({ id, type, sandbox, created_at: at, data }: EventRow) =>
  ({ id, type, created_at: isoTime(at), data: JSON.parse(data), ...(sandbox === 1 ? { sandbox: true } : {}) }) as z.input<S>

/** The response to a batch; in strict mode there are no `errors`. */
export const sentBatchObject = ({ emails, errors }: AcceptedBatch, mode: 'strict' | 'permissive') => ({
  data: emails.map(({ messageId }) => ({ id: messageId })),
  ...(mode === 'strict' ? {} : { errors: errors.map(({ index, code, message }) => ({ index, message, name: code })) }),
})
