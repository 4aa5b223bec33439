import { isAscii } from 'node:buffer'
import type { Readable } from 'node:stream'
import type { Clock } from '../clock.ts'
import { complete, maxReceived, signedLongLine, type Completed } from '../message/complete.ts'
import type { Envelope, EnvelopeRecipient } from '../message/envelope.ts'
import type { Submission } from '../message/submission.ts'
import type { ContentCollector } from '../smtp-server/content-collector.ts'
import { readMessage } from '../smtp-server/read-message.ts'
import { replyOf, SmtpRefusal } from '../smtp-server/smtp-refusal.ts'

/** A message in Internet format (RFC 5322) as its submitter hands it over. */
interface IncomingMessage extends Pick<Submission, 'id' | 'source' | 'submitter'> {
  /** `smtputf8`: whether the submitter allows that it is needed to keep header fields as they are. */
  mail: Omit<Envelope, 'recipients' | 'bodyType'>
  recipients: Omit<EnvelopeRecipient, 'type'>[]
  stream: Readable
}

interface ReadSubmissionOptions {
  maxMessageBytes: number
  clock: Pick<Clock, 'now'>
  /** The text of the Received field, folded, without its final CRLF. */
  traceField(now: number): string
}

interface ReadSubmission {
  /** Its idempotency is for the door to add. */
  submission: Submission
  /** What the header field Idempotency-Key says. */
  idempotencyKey: string | null
}

/**
 * Reads a message to its end, judges it and completes its header: the same for SMTP and for HTTP doors that take whole messages.
 * @throws SmtpRefusal, ClientGone; whatever the collector throws
 */
export async function readSubmission(
  { stream, mail, recipients, ...from }: IncomingMessage,
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
  const { summary, options, idempotencyKey, addressedAs, mustStay, smtputf8 } = completed
  if (hasLongLine && mustStay) throw new SmtpRefusal(replyOf(550, '5.6.3', signedLongLine))
  const addresses = [mail.reversePath ?? '', ...recipients.map(({ forwardPath }) => forwardPath)]
  const envelope: Envelope = {
    reversePath: mail.reversePath,
    recipients: recipients.map((recipient) => ({ ...recipient, type: addressedAs(recipient.forwardPath) })),
    bodyType: hasEightBitBody ? '8bitmime' : '7bit',
    // Raw characters in fields alone are passed on to whoever takes them, as everywhere, unless the client asked for more.
    smtputf8: (smtputf8 && mail.smtputf8) || !isAscii(Buffer.from(addresses.join())),
    envid: mail.envid,
    ret: mail.ret,
  }
  return { submission: { ...from, envelope, header: summary, content: collector.finish(), options, idempotency: null }, idempotencyKey }
}

function completedHeader(bytes: Buffer, traceField: ReadSubmissionOptions['traceField'], now: number): Completed {
  const completed = complete(bytes, { received: traceField(now), now })
  if (!completed.ok) throw new SmtpRefusal(replyOf(550, '5.6.0', completed.fault))
  if (completed.receivedCount > maxReceived) {
    throw new SmtpRefusal(replyOf(554, '5.4.6', `The message has passed more than ${maxReceived} hosts, it goes round in circles`))
  }
  return completed
}
