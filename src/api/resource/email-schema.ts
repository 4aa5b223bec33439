import { z } from 'zod'
import type { CheckParams, FieldFault } from '../../platform/errors.ts'
import { headerTextFault } from '../../mail/message/check-headers.ts'
import { isTagValue, maxTagValueLength, parseScheduledAt, sendLimits, tagName, topicFault } from '../../mail/message/send-limits.ts'
import { isTlsNotRequired, isTlsRequiredField, type SendOptions } from '../../mail/message/send-options.ts'
import { priorities, priorityLevels, type TransferOptions } from '../../mail/message/transfer-options.ts'
import { attachmentContent } from './attachment-content.ts'

/** characters */
export const maxSubjectLength = 998

const mebibyte = 1024 * 1024
/** bytes */
export const maxBodyLength = 5 * mebibyte
/** More than any limit below, so that a hostile list is refused before its elements are checked. */
const maxListLength = 1000

/** A check whose message completes the sentence "The `x` field …". */
const check = <T>(test: (value: T) => boolean, message: string, params: CheckParams) =>
  z.custom<T>((value) => test(value as T), { error: message, params, abort: true })

/** Counts the entries of a list or an object before `schema` checks each of them. */
const atMost = <O, I>(most: number, schema: z.ZodType<O, I>, error?: CheckParams['error']) =>
  check<I>(
    (value) => value === null || typeof value !== 'object' || Object.keys(value).length <= most,
    `must have at most ${most} entries`,
    { code: 'too_many', ...(error ? { error } : {}) },
  ).pipe(schema)

/** One line of a header, in characters. */
export const line = (most: number, least = 1) =>
  z
    .string()
    .min(least)
    .max(most)
    .refine((text) => headerTextFault(text) === null, {
      error: 'must be one line of text without control characters',
      params: { code: 'invalid_characters' } satisfies CheckParams,
    })

const unsupported = (isHarmless: (value: unknown) => boolean, message: string) =>
  check<unknown>(isHarmless, message, { code: 'unsupported_field', error: 'unsupported_field' })
    .optional()
    .describe(`The field ${message}.`)

const isAbsent = (value: unknown): boolean => value === undefined || value === null

const mailbox = z
  .union([z.string().max(1000), z.object({ email: z.string().max(1000), name: line(256, 0).nullish() })], {
    error: 'must be an address or {email, name}',
  })
  .meta({ id: 'Mailbox' })
const mailboxes = atMost(
  maxListLength,
  z.union([mailbox, z.array(mailbox)], { error: 'must be an address, {email, name}, or an array of these' }),
  'too_many_recipients',
)

/** The text of a body, up to 5 MiB. */
export const bodyText = z.string().refine((text) => text.length <= maxBodyLength && Buffer.byteLength(text) <= maxBodyLength, {
  error: `must be at most ${maxBodyLength / mebibyte} MiB long`,
  params: { code: 'too_long' } satisfies CheckParams,
})

const noRemoteContent = unsupported(isAbsent, 'is not supported: send the file itself in `content`')

const attachment = z.object({
  filename: z.string().min(1).max(255),
  content: attachmentContent,
  content_type: z.string().max(255).nullish(),
  content_id: z.string().max(255).nullish(),
  contentId: z.string().max(255).nullish(),
  path: noRemoteContent,
  href: noRemoteContent,
  url: noRemoteContent,
})

const tagNameText = z.string().regex(tagName, 'can have only letters, digits, _ and -, at most 256 of them')
const tagValueText = z
  .string()
  .min(1)
  .max(maxTagValueLength)
  .refine(isTagValue, {
    error: 'must be printable text, and not blank',
    params: { code: 'invalid_characters' } satisfies CheckParams,
  })
const tags = atMost(
  sendLimits.tags,
  z.union([z.array(z.object({ name: tagNameText, value: tagValueText })), z.record(tagNameText, tagValueText)], {
    error: 'must be an array of {name, value}, or an object',
  }),
)

const template = z.object({
  id: z.string().min(1).max(100).describe('The id or the alias of a published template.'),
  variables: z.record(z.string(), z.unknown()).nullish(),
  version: z
    .int()
    .min(1)
    .nullish()
    .describe('The number of a published version, which is sent in the place of the one that is published now. The newest 50 are kept.'),
})

const unsubscribe = z.object({
  topic: z
    .string()
    .min(1)
    .max(64)
    .refine((text) => topicFault(text) === null, {
      error: 'can have only letters, digits, _ and -, and cannot be true or false',
      params: { code: 'invalid_characters' } satisfies CheckParams,
    }),
})

const tracking = z.object({
  opens: z.boolean().nullish(),
  clicks: z.boolean().nullish(),
  anonymous: z.boolean().nullish().describe("Keeps neither the reader's address nor the user agent."),
})
const trackingText =
  'Whether opens are tracked, with a pixel, and clicks, with links that lead through this server. Default: the settings of the ' +
  'domain. ' +
  'A link with `data-sterna-track="off"` is not rewritten.'

const unsubscribeWith = <T extends z.ZodType>(topic: T) =>
  z.union([z.boolean(), topic], { error: 'must be true, false or {topic}' }).nullish()

const unsubscribeText =
  'Lets recipients unsubscribe: the message gets List-Unsubscribe fields, unless `headers` has its own. Whoever uses ' +
  'them gets no more mail with the same topic; `true` stands for mail without a topic. Other mail still reaches them. ' +
  '`{{unsubscribe_url}}` in `html`, `text` or the template becomes the link if the email has only one recipient.'

const shape = {
  from: mailbox.optional().describe('Required unless the template has one.'),
  to: mailboxes,
  cc: mailboxes.nullish(),
  bcc: mailboxes.nullish(),
  reply_to: mailboxes.nullish(),
  subject: line(maxSubjectLength).optional().describe('Required unless the template has one.'),
  html: bodyText.nullish(),
  text: bodyText.nullish(),
  headers: atMost(50, z.record(z.string(), z.string().max(998)))
    .nullish()
    .describe(
      'Header fields of your own. Message-ID, Date, MIME-Version and Content-… are left out, because the message has its own: ' +
        '`Dropped-Headers` of the answer names them. With `strict` they are refused.',
    ),
  attachments: atMost(100, z.array(attachment)).nullish(),
  tags: tags.nullish(),
  metadata: atMost(
    sendLimits.metadataKeys,
    z.record(z.string().min(1).max(sendLimits.metadataKey), z.string().max(sendLimits.metadataValue)),
  ).nullish(),
  scheduled_at: z.string().max(64).nullish(),
  expires_in: z
    .int()
    .min(sendLimits.minExpiry)
    .max(sendLimits.maxExpiry)
    .nullish()
    .describe('How many seconds to try to send it, as for a one-time code. What is not delivered by then bounces.'),
  priority: z
    .enum(priorities)
    .nullish()
    .describe(
      '`high` goes ahead of all other mail, as a one-time code should: an account may have so many recipients a minute ' +
        '(`quotas.urgent_per_minute`). More is taken as `normal`, and so is mail that is scheduled; the answer says so. `low` leaves the way ' +
        'to others.',
    ),
  require_tls: z
    .boolean()
    .nullish()
    .describe(
      '`true`: it travels only over TLS, verified at every hop, and bounces where that is not offered (REQUIRETLS, RFC 8689). `false`: the ' +
        "recipient's policies on TLS do not hold it up (the message gets `TLS-Required: No`).",
    ),
  template: template.nullish().describe('Replaces `html` and `text`.'),
  unsubscribe: unsubscribeWith(unsubscribe).describe(unsubscribeText),
  tracking: tracking.nullish().describe(trackingText),
  topic_id: z.unknown().optional().describe("Accepted for compatibility with other services' clients; has no effect."),
}

/** Requires the fields that only a template can replace, and refuses those that the template already provides. */
const consistent = <S extends z.ZodObject<typeof shape>>(schema: S): S =>
  schema
    .refine(({ from, template }) => from !== undefined || template, missing('from'))
    .refine(({ subject, template }) => subject !== undefined || template, missing('subject'))
    .refine(({ html, template }) => typeof html !== 'string' || !template, excluded('html'))
    .refine(({ text, template }) => typeof text !== 'string' || !template, excluded('text'))

/** This check runs along with all others, so it must not rely on the other fields being valid. */
const isEmail = ({ value }: { value: unknown }): boolean => typeof value === 'object' && value !== null

const missing = (field: string) => ({
  path: [field],
  error: 'is missing',
  params: { code: 'missing' } satisfies CheckParams,
  when: isEmail,
})
const excluded = (field: string) => ({
  path: [field],
  error: 'cannot be given with a template',
  params: { code: 'excluded' } satisfies CheckParams,
  when: isEmail,
})

/** The body of `POST /api/emails`; unknown fields are ignored. */
export const emailSchema = consistent(z.object(shape)).meta({ id: 'SendEmail' })
/** The same, but unknown fields are refused, for callers who want to notice typos. */
export const strictEmailSchema = consistent(
  z.strictObject({
    ...shape,
    attachments: atMost(100, z.array(z.strictObject(attachment.shape))).nullish(),
    template: z.strictObject(template.shape).nullish(),
    unsubscribe: unsubscribeWith(z.strictObject(unsubscribe.shape)),
    tracking: z.strictObject(tracking.shape).nullish(),
  }),
)

export type EmailInput = z.output<typeof emailSchema>
export type MailboxInput = z.output<typeof mailbox>

/** The options that an email requests; adds what is wrong with them to `faults`. */
export function optionsOf(email: EmailInput & Pick<SendOptions, 'templateId'>, now: number, faults: FieldFault[]): SendOptions {
  const { tags: given, unsubscribe: wish } = email
  return {
    tags: Array.isArray(given) ? given : Object.entries(given ?? {}).map(([name, value]) => ({ name, value })),
    metadata: email.metadata ?? {},
    templateId: email.templateId,
    unsubscribeTopic: typeof wish === 'object' && wish !== null ? wish.topic : wish ? '' : null,
    // Fields that are not given are left out.
    tracking: Object.fromEntries(Object.entries(email.tracking ?? {}).filter(([, value]) => typeof value === 'boolean')),
    scheduledAt: readSchedule(email.scheduled_at, now, faults),
    expiresIn: email.expires_in ?? null,
    transfer: transferOf(email),
  }
}

/** What the field says; else the header field, as over SMTP. */
function transferOf(email: EmailInput): TransferOptions | null {
  const requireTls = requiredTlsOf(email)
  const { priority } = email
  if (!priority || priority === 'normal') return requireTls
  return { ...requireTls, priority: priorityLevels[priority] }
}

function requiredTlsOf({ require_tls: requireTls, headers }: EmailInput): TransferOptions | null {
  if (typeof requireTls === 'boolean') return { requireTls }
  for (const name in headers) {
    if (isTlsRequiredField(name) && isTlsNotRequired(headers[name] ?? '')) return { requireTls: false }
  }
  return null
}

/** Null: at once. Adds what is wrong to `faults`. */
export function readSchedule(text: string | null | undefined, now: number, faults: FieldFault[]): number | null {
  if (text === null || text === undefined) return null
  const at = parseScheduledAt(text, now)
  if (at === null || typeof at === 'number') return at
  faults.push({ field: 'scheduled_at', code: at.code, message: `The \`scheduled_at\` field is invalid. ${at.fault}`, help: null })
  return null
}
