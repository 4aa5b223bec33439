import { SternaError, type ErrorCode } from '../../errors.ts'
import { newId } from '../../id.ts'
import { checkHeaders } from '../../message/check-headers.ts'
import { attachmentFault, compose, type OutgoingEmail } from '../../message/compose.ts'
import { toContent } from '../../message/content.ts'
import { parseScheduledAt } from '../../message/send-limits.ts'
import type { Idempotency, Mailbox, Submission, SubmittedRecipient, Submitter, Tag } from '../../message/submission.ts'
import type { TrackingWish } from '../../message/tracking-options.ts'
import { displayNameFault, mailboxText, parseAddress, parseMailbox, type ParsedMailbox } from '../../smtp/address.ts'
import type { UnsubscribeFrame } from '../../suppression/unsubscribe-token.ts'
import { refusal } from '../validate.ts'
import type { MailboxInput } from './email-schema.ts'
import type { CompleteEmail } from './email-template.ts'
import { withUnsubscribeLink } from './unsubscribe-link.ts'

/** What an email takes from the server that it is sent by. */
export interface EmailFrame {
  /** Epoch, ms. */
  now: number
  /** bytes */
  messageSizeLimit: number
  unsubscribe: UnsubscribeFrame
}

/** to, cc and bcc together */
export const mostRecipients = 50

type Fault = Parameters<typeof refusal>[0][number]

/**
 * The submission that an email over HTTP makes, its message composed.
 * @throws SternaError `validation_error`, `missing_required_field`, `invalid_from_address`, `too_many_recipients`,
 *   `payload_too_large`
 */
export async function submissionFor(
  email: CompleteEmail,
  by: { submitter: Submitter; source: 'api' | 'compat'; idempotency: Idempotency | null },
  { now, messageSizeLimit, unsubscribe }: EmailFrame,
): Promise<Submission> {
  const faults: Fault[] = []
  const mailboxes = readMailboxes(email, faults)
  const scheduledAt = readSchedule(email.scheduled_at, now, faults)
  checkBodies(email, faults)
  faults.push(...checkHeaders(email.headers ?? {}))
  const attachments = readAttachments(email.attachments ?? [], faults)
  if (faults.length > 0 || !mailboxes.from) throw refusal(faults)
  const { from, to, cc, replyTo } = mailboxes
  const recipients = recipientsOf(mailboxes)
  if (recipients.length > mostRecipients) throw tooManyRecipients(recipients.length)
  const id = newId('em', now)
  const topic = topicOf(email.unsubscribe)
  const linked = topic === null ? email : withUnsubscribeLink(email, { ...by.submitter, messageId: id, topic, recipients }, unsubscribe)
  const composed = await compose(outgoingFor(linked, { ...mailboxes, from }, attachments), { now })
  if (composed.content.length > messageSizeLimit) throw tooLarge(composed.content.length, messageSizeLimit)
  return {
    id,
    source: by.source,
    submitter: by.submitter,
    reversePath: null,
    recipients,
    headerFrom: [from],
    sender: null,
    headerFromText: mailboxText(from),
    headerToText: to.map(mailboxText),
    headerCcText: cc.map(mailboxText),
    replyToText: replyTo.map(mailboxText),
    subject: email.subject,
    messageIdHeader: composed.messageIdHeader,
    content: toContent(composed.content),
    bodyType: composed.bodyType,
    smtputf8: composed.smtputf8,
    envid: null,
    ret: null,
    tags: tagsOf(email.tags),
    metadata: email.metadata ?? {},
    templateId: email.templateId,
    unsubscribeTopic: topic,
    tracking: wishOf(email.tracking),
    scheduledAt,
    expiresIn: email.expires_in ?? null,
    idempotency: by.idempotency,
  }
}

interface Mailboxes {
  /** Undefined where it is faulty. */
  from: Mailbox | undefined
  to: Mailbox[]
  cc: Mailbox[]
  bcc: Mailbox[]
  replyTo: Mailbox[]
}

function readMailboxes(email: CompleteEmail, faults: Fault[]): Mailboxes {
  const read = (input: MailboxInput, field: string, error?: ErrorCode): Mailbox[] => {
    const parsed = typeof input === 'string' ? parseMailbox(input) : parseObject(input)
    if (parsed.ok) return [parsed.mailbox]
    faults.push({
      field,
      code: 'invalid_email',
      message: `The \`${field}\` field is not a valid email address. ${parsed.fault}`,
      help: null,
      error,
    })
    return []
  }
  const readList = (input: MailboxInput | MailboxInput[] | null | undefined, field: string): Mailbox[] => {
    if (input === null || input === undefined) return []
    const mailboxes = Array.isArray(input) ? input.flatMap((one, place) => read(one, `${field}.${place}`)) : read(input, field)
    const seen = new Set<string>()
    return mailboxes.filter(({ address }) => !seen.has(address) && seen.add(address))
  }
  const [from] = read(email.from, 'from', 'invalid_from_address')
  const to = readList(email.to, 'to')
  if (Array.isArray(email.to) && email.to.length === 0) faults.push(missing('to', 'The `to` field names nobody.'))
  return { from, to, cc: readList(email.cc, 'cc'), bcc: readList(email.bcc, 'bcc'), replyTo: readList(email.reply_to, 'reply_to') }
}

function parseObject({ email, name }: Exclude<MailboxInput, string>): ParsedMailbox {
  const parsed = parseAddress(email)
  if (!parsed.ok) return parsed
  const fault = displayNameFault(name ?? '')
  return fault === null ? { ok: true, mailbox: { address: parsed.address, name: name || null } } : { ok: false, fault }
}

const missing = (field: string, message: string): Fault => ({ field, code: 'missing', message, help: null })

function readSchedule(text: string | null | undefined, now: number, faults: Fault[]): number | null {
  if (text === null || text === undefined) return null
  const at = parseScheduledAt(text, now)
  if (at === null || typeof at === 'number') return at
  faults.push({ field: 'scheduled_at', code: at.code, message: `The \`scheduled_at\` field is refused. ${at.fault}`, help: null })
  return null
}

function checkBodies({ html, text }: CompleteEmail, faults: Fault[]): void {
  if (!html && !text) faults.push(missing('html', 'The `html` field is missing, and there is no `text` either.'))
}

/** Each address once; the first of to, cc and bcc in which it stands counts. */
function recipientsOf({ to, cc, bcc }: Mailboxes): SubmittedRecipient[] {
  const byAddress = new Map<string, SubmittedRecipient>()
  for (const [type, mailboxes] of [
    ['to', to],
    ['cc', cc],
    ['bcc', bcc],
  ] as const) {
    for (const mailbox of mailboxes) {
      if (!byAddress.has(mailbox.address)) byAddress.set(mailbox.address, { mailbox, type, notify: null, orcpt: null })
    }
  }
  return [...byAddress.values()]
}

function readAttachments(given: NonNullable<CompleteEmail['attachments']>, faults: Fault[]): OutgoingEmail['attachments'] {
  return given.map((input, place) => {
    const attachment = {
      filename: input.filename,
      content: Buffer.from(input.content, 'base64'),
      contentType: input.content_type ?? null,
      contentId: input.content_id ?? input.contentId ?? null,
    }
    const fault = attachmentFault(attachment)
    if (fault !== null) {
      faults.push({ field: `attachments.${place}`, code: 'invalid_attachment', message: fault, help: null, error: 'invalid_attachment' })
    }
    return attachment
  })
}

const outgoingFor = (
  { subject, html, text, headers }: CompleteEmail,
  { from, to, cc, replyTo }: Mailboxes & { from: Mailbox },
  attachments: OutgoingEmail['attachments'],
): OutgoingEmail => ({ from, to, cc, replyTo, subject, html: html || null, text, headers: headers ?? {}, attachments })

function tagsOf(tags: CompleteEmail['tags']): Tag[] {
  if (tags === null || tags === undefined) return []
  return Array.isArray(tags) ? tags : Object.entries(tags).map(([name, value]) => ({ name, value }))
}

/** What is not given is left out. */
const wishOf = (tracking: CompleteEmail['tracking']): TrackingWish =>
  Object.fromEntries(Object.entries(tracking ?? {}).filter(([, value]) => typeof value === 'boolean'))

function topicOf(unsubscribe: CompleteEmail['unsubscribe']): string | null {
  if (typeof unsubscribe === 'object' && unsubscribe !== null) return unsubscribe.topic
  return unsubscribe ? '' : null
}

const tooManyRecipients = (count: number): SternaError =>
  new SternaError('too_many_recipients', `The email has ${count} recipients; to, cc and bcc may name ${mostRecipients} together.`)

const tooLarge = (size: number, limit: number): SternaError =>
  new SternaError('payload_too_large', `The message has ${size} bytes with its attachments encoded; ${limit} are taken at most.`)
