import type { Attempt } from '../delivery/attempt.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Log } from '../../platform/log.ts'
import type { QueuedMessage, QueuedRecipient } from './queue-store.ts'
import type { Result, Settlement } from './settle.ts'

const sentences: Record<Result | 'deferred', string> = {
  delivered: 'mail was delivered',
  sent: 'mail was handed to the smarthost',
  bounced: 'mail bounced',
  expired: 'mail was given up: not delivered in time',
  suppressed: 'mail was not sent: the address is suppressed',
  failed: 'mail failed by a fault of this server',
  deferred: 'mail was deferred',
}

/** A recipient that is settled, and the attempt that led to it; null where none was made. */
export interface SettledMail {
  message: QueuedMessage
  recipient: QueuedRecipient
  attempt: Attempt | null
}

/**
 * Logs what became of a recipient: the domain and the codes, but neither the address nor what the server said, which often repeats it.
 * `delayMs` counts from when the message was first due.
 */
export function logOutcome(log: Log, { message, recipient, attempt }: SettledMail, { dueAt, result }: Settlement, now: number): void {
  const outcome = attempt?.outcome
  log.info(
    {
      messageId: message.id,
      recipientId: recipient.id,
      destination: recipient.destination,
      host: attempt?.mxHost ?? null,
      code: outcome ? (outcome.reply?.code ?? null) : recipient.smtpCode,
      enhancedStatus: outcome ? (outcome.reply?.enhancedStatus ?? null) : recipient.enhancedStatus,
      ...(outcome && 'category' in outcome ? { category: outcome.category } : {}),
      attempts: recipient.attempts + (attempt ? 1 : 0),
      // The clock may have been set back since.
      delayMs: Math.max(0, now - message.firstDueAt),
      ...(dueAt === null ? {} : { nextAttemptAt: isoTime(dueAt) }),
      ...(message.sandbox ? { sandbox: true } : {}),
    },
    sentences[result ?? 'deferred'],
  )
}

/** The same for recipients that are suppressed when their message is accepted: they never get into the queue. */
export function logSuppressed(
  log: Log,
  message: { id: string; sandbox: boolean },
  recipients: { id: string; destination: string }[],
): void {
  for (const { id, destination } of recipients) {
    const none = { host: null, code: null, enhancedStatus: null, attempts: 0, delayMs: 0 }
    const fields = { messageId: message.id, recipientId: id, destination, ...none, ...(message.sandbox ? { sandbox: true } : {}) }
    log.info(fields, sentences.suppressed)
  }
}
