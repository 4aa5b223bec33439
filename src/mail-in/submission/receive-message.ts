import type { BaseServices } from '../../platform/base-services.ts'
import { createHash } from 'node:crypto'
import type { AuthenticatedKey } from '../../senders/account/api-keys.ts'
import { newId } from '../../platform/id.ts'
import type { Idempotency, Submission } from '../../mail/message/submission.ts'
import type { ContentStream } from '../smtp-server/content-stream.ts'
import { ContentCollector } from '../smtp-server/content-collector.ts'
import { ClientGone } from '../smtp-server/read-message.ts'
import { SmtpRefusal, isRefusal, refusalFor, replyOf } from '../smtp-server/smtp-refusal.ts'
import type { Transaction } from '../smtp-server/smtp-session.ts'
import { traceField } from '../smtp-server/trace-field.ts'
import type { MemoryPool } from '../../platform/memory-pool.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import type { AcceptArriving } from './accept.ts'
import { refusalReason } from './count-refusals.ts'
import { readSubmission } from './read-submission.ts'

export interface ReceiveServices extends Pick<BaseServices, 'clock' | 'log' | 'metrics'> {
  accept: AcceptArriving
  memory: MemoryPool
  /** Null if this key may still send. */
  mayStillSend(key: AuthenticatedKey): Reply | null
}

interface ReceiveOptions {
  hostname: string
  /** True if Received names the client. */
  traceClients: boolean
  maxMessageBytes: number
}

/**
 * Receives one message: reads it, completes its header, submits it to `accept`, and returns the reply.
 * The 250 that takes responsibility is returned only after `accept` has the message on disk.
 */
export async function receiveMessage(
  transaction: Transaction<AuthenticatedKey>,
  stream: ContentStream,
  services: ReceiveServices,
  options: ReceiveOptions,
): Promise<Reply> {
  const messageId = newId('em', services.clock.now())
  const { client, user: key } = transaction
  const { log } = services
  const about = { messageId, connectionId: client.connectionId, accountId: key.accountId }
  try {
    const accepted = await services.accept(async (upload) => {
      const collector = new ContentCollector((first, chunks) => upload.store(messageId, first, chunks), services.memory)
      const submission = await submissionFrom({ transaction, stream, messageId, collector }, services, options)
      const refusal = services.mayStillSend(key)
      if (refusal) throw new SmtpRefusal(refusal)
      return submission
    })
    if (!accepted.isLowered) return replyOf(250, '2.0.0', `Ok: queued as ${accepted.messageId}`)
    // RFC 6710 4.1
    return replyOf(
      250,
      '2.3.6',
      `0 is the new priority: scheduled, or too much urgent mail in this minute; queued as ${accepted.messageId}`,
    )
  } catch (error) {
    const reply = refusalFor(error)
    if (!(error instanceof ClientGone)) services.metrics.refused.smtp[refusalReason(reply)].add()
    if (error instanceof ClientGone) log.info({ ...about, address: client.address }, 'SMTP client left before its message was complete')
    else if (isRefusal(error)) log.info({ ...about, reply: `${reply.code} ${reply.enhancedStatus} ${reply.text}` }, 'message refused')
    else log.error({ ...about, error }, 'a message could not be accepted')
    return reply
  }
}

interface Incoming {
  transaction: Transaction<AuthenticatedKey>
  stream: ContentStream
  messageId: string
  collector: ContentCollector
}

async function submissionFrom(incoming: Incoming, { clock }: ReceiveServices, options: ReceiveOptions): Promise<Submission> {
  const { transaction, stream, messageId: id, collector } = incoming
  const { client, user, mail, recipients } = transaction
  const submitter = { accountId: user.accountId, domainId: user.domainId, sandbox: user.sandbox }
  const { submission, idempotencyKey } = await readSubmission({ id, source: 'smtp', submitter, mail, recipients, stream }, collector, {
    clock,
    maxMessageBytes: options.maxMessageBytes,
    traceField(now) {
      const about = { id, smtputf8: mail.smtputf8, authenticated: true, now }
      return traceField({ client, namesClient: options.traceClients, hostname: options.hostname, ...about })
    },
  })
  return idempotencyKey === null ? submission : { ...submission, idempotency: idempotencyOf(submission, idempotencyKey) }
}

/** A retrying client sends a new Date and Message-ID, so the fingerprint leaves them out. The sandbox has its own keys. */
function idempotencyOf({ submitter, envelope, header }: Submission, key: string): Idempotency {
  const to = envelope.recipients.map(({ forwardPath }) => forwardPath).toSorted()
  const compared = JSON.stringify([envelope.reversePath, to, header.fromText, header.subject])
  return {
    operation: submitter.sandbox ? 'sandbox-smtp' : 'smtp',
    key,
    fingerprint: createHash('sha256').update(compared).digest('hex'),
  }
}
