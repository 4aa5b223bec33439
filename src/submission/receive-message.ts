import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { AuthenticatedKey } from '../account/api-keys.ts'
import type { Clock } from '../clock.ts'
import { newId } from '../id.ts'
import type { Log } from '../log.ts'
import { addressedAs } from '../message/addressed-as.ts'
import { complete, maxReceived, signedLongLine, type Completed } from '../message/complete.ts'
import type { Content, Idempotency, SubmittedRecipient, Submission } from '../message/submission.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { ContentCollector } from '../smtp-server/content-collector.ts'
import { ClientGone, readMessage } from '../smtp-server/read-message.ts'
import { SmtpRefusal, isRefusal, refusalFor, replyOf } from '../smtp-server/smtp-refusal.ts'
import type { Transaction } from '../smtp-server/smtp-session.ts'
import { traceField } from '../smtp-server/trace-field.ts'
import type { Reply } from '../smtp/reply.ts'
import type { AcceptArriving } from './accept.ts'
import { refusalReason } from './count-refusals.ts'

export interface ReceiveParts {
  clock: Clock
  log: Log
  metrics: Pick<Metrics, 'refused'>
  accept: AcceptArriving
  /** Null while this key may send. */
  mayStillSend(key: AuthenticatedKey): Reply | null
}

interface ReceiveOptions {
  hostname: string
  /** Whether Received tells who the client is. */
  traceClients: boolean
  maxMessageBytes: number
}

/**
 * Takes one message from the client: reads it, completes its header, hands it to the door, and says what became of it.
 * The reply that takes responsibility is made only when the door has the message on disk.
 */
export async function receiveMessage(
  transaction: Transaction<AuthenticatedKey>,
  stream: Readable,
  parts: ReceiveParts,
  options: ReceiveOptions,
): Promise<Reply> {
  const messageId = newId('em', parts.clock.now())
  const { client, user: key } = transaction
  const { log } = parts
  const about = { messageId, connectionId: client.connectionId, accountId: key.accountId }
  try {
    const accepted = await parts.accept(async (upload) => {
      const collector = new ContentCollector((first, chunks) => upload.store(messageId, first, chunks))
      const submission = await readSubmission({ transaction, stream, messageId, collector }, parts, options)
      const refusal = parts.mayStillSend(key)
      if (refusal) throw new SmtpRefusal(refusal)
      return submission
    })
    return replyOf(250, '2.0.0', `Ok: queued as ${accepted.messageId}`)
  } catch (error) {
    const reply = refusalFor(error)
    if (!(error instanceof ClientGone)) parts.metrics.refused.smtp[refusalReason(reply)].add()
    if (error instanceof ClientGone) log.info({ ...about, address: client.address }, 'SMTP client left before its message was complete')
    else if (isRefusal(error)) log.info({ ...about, reply: `${reply.code} ${reply.enhancedCode} ${reply.text}` }, 'message refused')
    else log.error({ ...about, error }, 'message could not be taken')
    return reply
  }
}

interface Incoming {
  transaction: Transaction<AuthenticatedKey>
  stream: Readable
  messageId: string
  collector: ContentCollector
}

async function readSubmission(incoming: Incoming, parts: ReceiveParts, options: ReceiveOptions): Promise<Submission> {
  const { transaction, stream, messageId, collector } = incoming
  const { client, mail } = transaction
  let completed: Completed | undefined
  const { hasEightBitBody, hasLongLine } = await readMessage(stream, collector, {
    maxMessageBytes: options.maxMessageBytes,
    completeHeader(bytes) {
      const now = parts.clock.now()
      const about = { id: messageId, smtputf8: mail.smtputf8, authenticated: true, now }
      const received = traceField({ client, namesClient: options.traceClients, hostname: options.hostname, ...about })
      completed = completedHeader(bytes, received, now)
      return completed.header
    },
  })
  if (!completed) throw new Error('a message was read without its header')
  if (hasLongLine && completed.mustStay) throw new SmtpRefusal(replyOf(550, '5.6.3', signedLongLine))
  return submissionOf({ transaction, messageId, header: completed, content: collector.finish(), hasEightBitBody })
}

function completedHeader(bytes: Buffer, received: string, now: number): Completed {
  const completed = complete(bytes, { received, now })
  if (!completed.ok) throw new SmtpRefusal(replyOf(550, '5.6.0', completed.fault))
  if (completed.receivedCount > maxReceived) {
    throw new SmtpRefusal(replyOf(554, '5.4.6', `The message has passed more than ${maxReceived} hosts, it goes round in circles`))
  }
  return completed
}

interface ReadMessage {
  transaction: Transaction<AuthenticatedKey>
  messageId: string
  header: Completed
  content: Content
  hasEightBitBody: boolean
}

function submissionOf({ transaction, messageId, header, content, hasEightBitBody }: ReadMessage): Submission {
  const { user: key, mail, recipients } = transaction
  const addresses = [mail.reversePath ?? '', ...recipients.map(({ forwardPath }) => forwardPath)]
  return {
    id: messageId,
    source: 'smtp',
    submitter: { accountId: key.accountId, keyId: key.id, domainId: key.domainId, sandbox: key.sandbox },
    reversePath: mail.reversePath,
    recipients: recipientsOf(transaction, header),
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
    // Raw characters in fields alone are passed on to whoever takes them, as everywhere, unless the client asked for more.
    // oxlint-disable-next-line no-control-regex
    smtputf8: (header.smtputf8 && mail.smtputf8) || addresses.some((address) => /[^\x00-\x7f]/.test(address)),
    envid: mail.envid,
    ret: mail.ret,
    tags: header.tags,
    metadata: header.metadata,
    templateId: null,
    unsubscribeTopic: header.unsubscribeTopic,
    tracking: header.tracking,
    scheduledAt: header.scheduledAt,
    expiresIn: header.expiresIn,
    idempotency: idempotencyOf(transaction, header),
  }
}

function recipientsOf({ recipients }: Transaction<AuthenticatedKey>, header: Completed): SubmittedRecipient[] {
  const typeOf = addressedAs(header)
  return recipients.map(({ forwardPath, notify, orcpt }) => ({
    mailbox: { address: forwardPath, name: null },
    type: typeOf(forwardPath),
    notify,
    orcpt,
  }))
}

/** A client that tries again sends a new Date and Message-ID, so they cannot be compared. The sandbox has keys of its own. */
function idempotencyOf({ user, mail, recipients }: Transaction<AuthenticatedKey>, header: Completed): Idempotency | null {
  if (header.idempotencyKey === null) return null
  const to = recipients.map(({ forwardPath }) => forwardPath).toSorted()
  const compared = JSON.stringify([mail.reversePath, to, header.headerFromText, header.subject])
  return {
    operation: user.sandbox ? 'sandbox-smtp' : 'smtp',
    key: header.idempotencyKey,
    fingerprint: createHash('sha256').update(compared).digest('hex'),
  }
}
