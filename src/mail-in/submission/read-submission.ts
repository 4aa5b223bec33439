import type { Clock } from '../../platform/clock.ts'
import { isInternational } from '../../platform/smtp/address.ts'
import { complete, maxReceived, signedLongLine, type Completed } from '../../mail/message/complete.ts'
import type { Envelope, EnvelopeRecipient } from '../../mail/message/envelope.ts'
import type { SendOptions } from '../../mail/message/send-options.ts'
import type { Submission } from '../../mail/message/submission.ts'
import type { ContentStream } from '../smtp-server/content-stream.ts'
import type { ContentCollector } from '../smtp-server/content-collector.ts'
import type { MailCommand } from '../smtp-server/envelope-command.ts'
import { readMessage } from '../smtp-server/read-message.ts'
import { replyOf, SmtpRefusal } from '../smtp-server/smtp-refusal.ts'
import { expiryBy, type AskedOptions } from '../smtp-server/transfer-parameters.ts'

/** A message in Internet Message Format (RFC 5322) as submitted. */
interface IncomingMessage extends Pick<Submission, 'id' | 'source' | 'submitter'> {
  /** `smtputf8`: true if the submitter declared that the message may need it. */
  mail: Omit<Envelope, 'recipients' | 'bodyType'> & Partial<Pick<MailCommand, 'asked'>>
  recipients: Omit<EnvelopeRecipient, 'type'>[]
  stream: ContentStream
}

interface ReadSubmissionOptions {
  maxMessageBytes: number
  clock: Pick<Clock, 'now'>
  /** The Received field, folded, without its final CRLF. */
  traceField(now: number): string
}

interface ReadSubmission {
  /** The caller sets its idempotency. */
  submission: Submission
  /** From the header field Idempotency-Key. */
  idempotencyKey: string | null
}

/**
 * Reads a whole message, checks it and completes its header. SMTP and the HTTP APIs that take raw MIME share it.
 * @throws SmtpRefusal, ClientGone; whatever the collector throws
 */
export async function readSubmission(
  { id, source, submitter, mail, recipients, stream }: IncomingMessage,
  collector: ContentCollector,
  { maxMessageBytes, clock, traceField }: ReadSubmissionOptions,
): Promise<ReadSubmission> {
  let completed: Completed | undefined
  const completeHeader = (bytes: Buffer): Buffer => {
    completed = completedHeader(bytes, traceField, clock.now())
    return completed.header
  }
  const { hasEightBitBody, hasLongLine } = await readMessage(stream, collector, { maxMessageBytes, completeHeader })
  if (!completed) throw new Error('a message was read without its header')
  const { summary, idempotencyKey, addressedAs, mustStay, smtputf8 } = completed
  if (hasLongLine && mustStay) throw new SmtpRefusal(replyOf(550, '5.6.3', signedLongLine))
  const envelope: Envelope = {
    reversePath: mail.reversePath,
    recipients: recipients.map(({ forwardPath, notify, orcpt }) => ({ forwardPath, type: addressedAs(forwardPath), notify, orcpt })),
    bodyType: hasEightBitBody ? '8bitmime' : '7bit',
    // Like other relays, we pass on raw bytes in header fields without SMTPUTF8 unless the client asked for it. A recipient's address that
    // needs it concerns the transfer to that one alone.
    smtputf8: (smtputf8 && mail.smtputf8) || isInternational(mail.reversePath ?? ''),
    envid: mail.envid,
    ret: mail.ret,
  }
  const options = mail.asked ? withAsked(completed.options, mail.asked, clock.now()) : completed.options
  const submission = { id, source, submitter, envelope, header: summary, content: collector.finish(), options, idempotency: null }
  return { submission, idempotencyKey }
}

/** What MAIL asks stands before what the header says (RFC 8689 4.1). */
function withAsked(header: SendOptions, { scheduledAt, expiresIn, transfer }: AskedOptions, now: number): SendOptions {
  const options = { ...header, scheduledAt: scheduledAt ?? header.scheduledAt, expiresIn: expiresIn ?? header.expiresIn }
  if (transfer) options.transfer = { ...header.transfer, ...transfer }
  if (scheduledAt !== null || header.scheduledAt === null) return options
  // The time that the header gives is known only now.
  const left = expiryBy(transfer?.deliverBy, Math.max(now, header.scheduledAt))
  if (typeof left === 'object' && left !== null) throw new SmtpRefusal(left)
  return { ...options, expiresIn: left ?? header.expiresIn }
}

function completedHeader(bytes: Buffer, traceField: ReadSubmissionOptions['traceField'], now: number): Completed {
  const completed = complete(bytes, { received: traceField(now), now })
  if (!completed.ok) throw new SmtpRefusal(replyOf(550, '5.6.0', completed.fault))
  if (completed.receivedCount > maxReceived) {
    throw new SmtpRefusal(replyOf(554, '5.4.6', `The message has passed more than ${maxReceived} hosts, so it is probably in a loop`))
  }
  return completed
}
