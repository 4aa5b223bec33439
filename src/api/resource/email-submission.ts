import { SternaError, type ErrorCode } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { checkHeaders } from '../../mail/message/check-headers.ts'
import { attachmentFault, compose, type OutgoingEmail } from '../../mail/message/compose.ts'
import { toContent } from '../../mail/message/content.ts'
import { envelopeTo, recipientTo, recipientTypes, type EnvelopeRecipient } from '../../mail/message/envelope.ts'
import { isTlsRequiredField } from '../../mail/message/send-options.ts'
import type { Submission } from '../../mail/message/submission.ts'
import { comparedAddress, parseAddress } from '../../platform/smtp/address.ts'
import { displayNameFault, parseMailbox, type Mailbox, type ParsedMailbox } from '../../platform/smtp/mailbox.ts'
import type { UnsubscribeContext } from '../../mail/suppression/unsubscribe-token.ts'
import { refusal } from '../operation/validate.ts'
import { bytesOf } from './attachment-content.ts'
import { optionsOf, type MailboxInput } from './email-schema.ts'
import type { CompleteEmail } from './email-template.ts'
import { withUnsubscribeLink } from './unsubscribe-link.ts'

/** What composing an email needs from the server. */
export interface EmailContext {
  /** Epoch, ms. */
  now: number
  /** bytes */
  messageSizeLimit: number
  unsubscribe: UnsubscribeContext
}

/** to, cc and bcc combined */
export const maxRecipients = 50

type Fault = Parameters<typeof refusal>[0][number]

/**
 * Composes an email received over HTTP into a submission.
 * @throws SternaError `validation_error`, `missing_required_field`, `invalid_from_address`, `too_many_recipients`,
 *   `payload_too_large`
 */
export async function submissionFor(
  email: CompleteEmail,
  by: Pick<Submission, 'submitter' | 'source' | 'idempotency'>,
  { now, messageSizeLimit, unsubscribe }: EmailContext,
): Promise<Submission> {
  const faults: Fault[] = []
  const mailboxes = readMailboxes(email, faults)
  const options = optionsOf(email, now, faults)
  checkBodies(email, faults)
  faults.push(...checkHeaders(email.headers ?? {}))
  const attachments = readAttachments(email.attachments ?? [], faults)
  if (faults.length > 0 || !mailboxes.from) throw refusal(faults)
  const { from } = mailboxes
  const recipients = recipientsOf(mailboxes)
  if (recipients.length > maxRecipients) throw tooManyRecipients(recipients.length)
  const id = newId('em', now)
  const { unsubscribeTopic: topic } = options
  const linked = topic === null ? email : withUnsubscribeLink(email, { ...by.submitter, messageId: id, topic, recipients }, unsubscribe)
  const composed = await compose(outgoingFor(linked, { ...mailboxes, from }, attachments), { now })
  if (composed.content.length > messageSizeLimit) throw tooLarge(composed.content.length, messageSizeLimit)
  return {
    ...by,
    id,
    envelope: envelopeTo(recipients, composed),
    header: composed.header,
    content: toContent(composed.content),
    options,
  }
}

interface Mailboxes {
  /** Undefined if it is invalid. */
  from: Mailbox | undefined
  to: Mailbox[]
  cc: Mailbox[]
  bcc: Mailbox[]
  replyTo: Mailbox[]
}

function readMailboxes(email: CompleteEmail, faults: Fault[]): Mailboxes {
  const read = (input: MailboxInput, field: string, error?: ErrorCode): Mailbox[] => {
    const parsed = typeof input === 'string' ? parseMailbox(input.trim()) : parseObject(input)
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
    return mailboxes.filter(({ address }) => !seen.has(comparedAddress(address)) && seen.add(comparedAddress(address)))
  }
  const [from] = read(email.from, 'from', 'invalid_from_address')
  const to = readList(email.to, 'to')
  if (Array.isArray(email.to) && email.to.length === 0) faults.push(missing('to', 'The `to` field has no recipients.'))
  return { from, to, cc: readList(email.cc, 'cc'), bcc: readList(email.bcc, 'bcc'), replyTo: readList(email.reply_to, 'reply_to') }
}

function parseObject({ email, name }: Exclude<MailboxInput, string>): ParsedMailbox {
  const parsed = parseAddress(email.trim())
  if (!parsed.ok) return parsed
  const fault = displayNameFault(name ?? '')
  return fault === null ? { ok: true, mailbox: { address: parsed.address, name: name || null } } : { ok: false, fault }
}

const missing = (field: string, message: string): Fault => ({ field, code: 'missing', message, help: null })

function checkBodies({ html, text }: CompleteEmail, faults: Fault[]): void {
  if (!html && !text) faults.push(missing('html', 'The `html` field is missing, and there is no `text` either.'))
}

/** Each address once, as the first of to, cc and bcc that lists it, and in that spelling. */
function recipientsOf(mailboxes: Mailboxes): EnvelopeRecipient[] {
  const byAddress = new Map<string, EnvelopeRecipient>()
  for (const type of recipientTypes) {
    for (const { address } of mailboxes[type]) {
      const key = comparedAddress(address)
      if (!byAddress.has(key)) byAddress.set(key, recipientTo(address, type))
    }
  }
  return [...byAddress.values()]
}

function readAttachments(given: NonNullable<CompleteEmail['attachments']>, faults: Fault[]): OutgoingEmail['attachments'] {
  return given.map((input, place) => {
    const attachment = {
      filename: input.filename,
      content: bytesOf(input.content),
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
  { subject, html, text, headers, require_tls: requireTls }: CompleteEmail,
  { from, to, cc, replyTo }: Mailboxes & { from: Mailbox },
  attachments: OutgoingEmail['attachments'],
): OutgoingEmail => {
  const own = headers ?? {}
  const all = requireTls === false && !Object.keys(own).some(isTlsRequiredField) ? { ...own, 'TLS-Required': 'No' } : own
  return { from, to, cc, replyTo, subject, html: html || null, text, headers: all, attachments }
}

const tooManyRecipients = (count: number): SternaError =>
  new SternaError('too_many_recipients', `The email has ${count} recipients; to, cc and bcc can have at most ${maxRecipients} together.`)

const tooLarge = (size: number, limit: number): SternaError =>
  new SternaError('payload_too_large', `The message has ${size} bytes including encoded attachments; the limit is ${limit}.`)
