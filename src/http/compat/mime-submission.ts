import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { SternaError } from '../../errors.ts'
import { newId } from '../../id.ts'
import { addressedAs } from '../../message/addressed-as.ts'
import { complete, maxReceived, signedLongLine, type Completed } from '../../message/complete.ts'
import { formatDate } from '../../message/format-field.ts'
import { metadataFault, parseScheduledAt, tagsFault } from '../../message/send-limits.ts'
import type { Content, Idempotency, Submission, SubmittedRecipient, Submitter } from '../../message/submission.ts'
import { ContentCollector } from '../../smtp-server/content-collector.ts'
import { readMessage } from '../../smtp-server/read-message.ts'
import { SmtpRefusal } from '../../smtp-server/smtp-refusal.ts'
import type { MailgunOptions } from './mailgun-options.ts'
import { withCrlf } from './with-crlf.ts'

/** A message as it was handed over, with what its form says beside it. */
export interface RawMessage {
  content: Buffer
  /** Bare addresses: the envelope. */
  recipients: string[]
  submitter: Submitter
  /** The header `Idempotency-Key` of the request. */
  idempotencyKey: string | null
  options: MailgunOptions
  /** Of the client, where it is to be told in Received. */
  clientAddress: string | null
}

export interface RawMessageFrame {
  /** Epoch, ms. */
  now: number
  hostname: string
  /** bytes */
  messageSizeLimit: number
}

/**
 * The submission that a raw message makes: read, judged and completed as one that comes by SMTP, except that lines may
 * end with LF alone. What the form says of tags, metadata and time is added to what the header says.
 * @throws SternaError `invalid_message`, `payload_too_large`
 */
export async function mimeSubmission(message: RawMessage, frame: RawMessageFrame): Promise<Submission> {
  const id = newId('em', frame.now)
  const collector = new ContentCollector(null)
  let header: Completed | undefined
  const completeHeader = (bytes: Buffer): Buffer => {
    header = completedHeader(bytes, traceField(message.clientAddress, id, frame), frame.now)
    return header.header
  }
  const options = { maxMessageBytes: frame.messageSizeLimit, completeHeader }
  const { hasEightBitBody, hasLongLine } = await readMessage(Readable.from(withCrlf(message.content)), collector, options).catch(refusalOf)
  if (!header) throw new Error('a message was read without its header')
  if (hasLongLine && header.mustStay) throw new SternaError('invalid_message', signedLongLine)
  return submissionOf(message, { id, header, content: collector.finish(), hasEightBitBody, now: frame.now })
}

function refusalOf(error: unknown): never {
  if (!(error instanceof SmtpRefusal)) throw error
  throw new SternaError(error.reply.code === 552 ? 'payload_too_large' : 'invalid_message', error.reply.text)
}

function completedHeader(bytes: Buffer, received: string, now: number): Completed {
  const completed = complete(bytes, { received, now })
  if (!completed.ok) throw new SternaError('invalid_message', completed.fault)
  if (completed.receivedCount > maxReceived)
    throw new SternaError('invalid_message', `The message has passed more than ${maxReceived} hosts.`)
  return completed
}

/** RFC 5321 4.4; the protocol is that of RFC 3848's registry for mail that came over HTTP. */
function traceField(clientAddress: string | null, id: string, { hostname, now }: RawMessageFrame): string {
  const literal = clientAddress?.includes(':') ? `IPv6:${clientAddress}` : clientAddress
  const from = literal === null ? '' : `from [${literal}]\r\n `
  return `Received: ${from}by ${hostname} with HTTP id ${id};\r\n ${formatDate(now)}`
}

interface ReadRaw {
  id: string
  header: Completed
  content: Content
  hasEightBitBody: boolean
  now: number
}

function submissionOf(message: RawMessage, { id, header, content, hasEightBitBody, now }: ReadRaw): Submission {
  const { options, recipients } = message
  const tags = [...header.tags, ...options.tags]
  const metadata = { ...header.metadata, ...options.metadata }
  const fault = tagsFault(tags) ?? metadataFault(metadata)
  if (fault !== null) throw new SternaError('validation_error', fault)
  return {
    id,
    source: 'compat',
    submitter: message.submitter,
    reversePath: null,
    recipients: recipientsOf(recipients, header),
    headerFrom: header.headerFrom,
    sender: header.sender,
    headerFromText: header.headerFromText,
    headerToText: header.headerToText,
    headerCcText: header.headerCcText,
    replyToText: header.replyToText,
    subject: header.subject,
    messageIdHeader: header.messageIdHeader,
    content,
    bodyType: hasEightBitBody ? '8bitmime' : '7bit',
    // oxlint-disable-next-line no-control-regex
    smtputf8: recipients.some((address) => /[^\x00-\x7f]/.test(address)),
    envid: null,
    ret: null,
    tags,
    metadata,
    templateId: null,
    unsubscribeTopic: header.unsubscribeTopic,
    tracking: { ...header.tracking, ...options.tracking },
    scheduledAt: scheduleOf(options, now) ?? header.scheduledAt,
    expiresIn: header.expiresIn,
    idempotency: idempotencyOf(message),
  }
}

/** The bytes of the message, to whom they go and when. */
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

function recipientsOf(addresses: string[], header: Completed): SubmittedRecipient[] {
  const typeOf = addressedAs(header)
  return [...new Set(addresses)].map((address) => ({ mailbox: { address, name: null }, type: typeOf(address), notify: null, orcpt: null }))
}
