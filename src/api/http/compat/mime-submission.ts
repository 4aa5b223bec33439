import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { SternaError } from '../../../platform/errors.ts'
import { newId } from '../../../platform/id.ts'
import { recipientTo } from '../../../mail/message/envelope.ts'
import { formatDate } from '../../../mail/message/format-field.ts'
import { metadataFault, parseScheduledAt, tagsFault } from '../../../mail/message/send-limits.ts'
import type { SendOptions } from '../../../mail/message/send-options.ts'
import type { Idempotency, Submission, Submitter } from '../../../mail/message/submission.ts'
import { ContentCollector } from '../../../mail-in/smtp-server/content-collector.ts'
import { SmtpRefusal } from '../../../mail-in/smtp-server/smtp-refusal.ts'
import { readSubmission } from '../../../mail-in/submission/read-submission.ts'
import type { MailgunOptions } from './mailgun-options.ts'
import { withCrlf } from './with-crlf.ts'

/** A raw message and the other fields of its form. */
export interface RawMessage {
  content: Buffer
  /** Bare addresses for the envelope. */
  recipients: string[]
  submitter: Submitter
  /** The request's `Idempotency-Key` header. */
  idempotencyKey: string | null
  options: MailgunOptions
  /** The client's address for Received; null if it is not to be named. */
  clientAddress: string | null
}

export interface RawMessageContext {
  /** Epoch, ms. */
  now: number
  hostname: string
  /** bytes */
  messageSizeLimit: number
}

/**
 * Makes a submission of a raw message, as if it had come by SMTP, except that lines may end with a bare LF. Tags, metadata,
 * tracking and time in the form are added to those in the header.
 * @throws SternaError `invalid_message`, `payload_too_large`, `validation_error`
 */
export async function mimeSubmission(message: RawMessage, context: RawMessageContext): Promise<Submission> {
  const id = newId('em', context.now)
  const incoming = {
    id,
    source: 'compat' as const,
    submitter: message.submitter,
    mail: { reversePath: null, smtputf8: false, envid: null, ret: null },
    recipients: message.recipients.map((forwardPath) => recipientTo(forwardPath)),
    stream: Readable.from(withCrlf(message.content)),
  }
  const { submission } = await readSubmission(incoming, new ContentCollector(null), {
    clock: { now: () => context.now },
    maxMessageBytes: context.messageSizeLimit,
    traceField: () => traceField(message.clientAddress, id, context),
  }).catch(refusalOf)
  return { ...submission, options: optionsOf(submission.options, message.options, context.now), idempotency: idempotencyOf(message) }
}

function refusalOf(error: unknown): never {
  if (!(error instanceof SmtpRefusal)) throw error
  throw new SternaError(error.reply.code === 552 ? 'payload_too_large' : 'invalid_message', error.reply.text)
}

/** RFC 5321 4.4; the protocol is that of RFC 3848's registry for mail that came over HTTP. */
function traceField(clientAddress: string | null, id: string, { hostname, now }: RawMessageContext): string {
  const literal = clientAddress?.includes(':') ? `IPv6:${clientAddress}` : clientAddress
  const from = literal === null ? '' : `from [${literal}]\r\n `
  return `Received: ${from}by ${hostname} with HTTP id ${id};\r\n ${formatDate(now)}`
}

/** Combines the options in the header with those in the form. */
function optionsOf(header: SendOptions, form: MailgunOptions, now: number): SendOptions {
  const tags = [...header.tags, ...form.tags]
  const metadata = { ...header.metadata, ...form.metadata }
  const fault = tagsFault(tags) ?? metadataFault(metadata)
  if (fault !== null) throw new SternaError('validation_error', fault)
  const scheduledAt = scheduleOf(form, now) ?? header.scheduledAt
  return { ...header, tags, metadata, scheduledAt, tracking: { ...header.tracking, ...form.tracking } }
}

/** The fingerprint covers the message, its recipients and the options of the form. */
function idempotencyOf({ content, recipients, options, submitter, idempotencyKey: key }: RawMessage): Idempotency | null {
  if (key === null) return null
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([recipients, options]))
    .update(content)
    .digest('hex')
  return { operation: `${submitter.sandbox ? 'sandbox-' : ''}compat-mime`, key, fingerprint }
}

function scheduleOf({ scheduledAt }: MailgunOptions, now: number): number | null {
  if (scheduledAt === undefined) return null
  const at = parseScheduledAt(scheduledAt, now)
  if (at === null || typeof at === 'number') return at
  throw new SternaError('validation_error', `The \`scheduled_at\` field is refused. ${at.fault}`)
}
