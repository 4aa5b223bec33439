import { isSimulatedSuppressed } from '../../mail-out/delivery/simulator.ts'
import { recordEvent } from '../../mail/event/event-log.ts'
import { newId } from '../../platform/id.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Log } from '../../platform/log.ts'
import type { Envelope, EnvelopeRecipient, RecipientType } from '../../mail/message/envelope.ts'
import { insertMessage, messageRow, type MessageRow } from '../../mail/message/message-store.ts'
import type { Submission } from '../../mail/message/submission.ts'
import { isUrgent, priorityOf, returnAtOf, type Priority } from '../../mail/message/transfer-options.ts'
import { trackingFor } from '../../mail/message/tracking-options.ts'
import { logSuppressed } from '../../mail-out/queue/outcome-line.ts'
import { insertRecipient, isWaiting, type NewRecipient, type WaitingRecipient } from '../../mail-out/queue/queue-store.ts'
import { moveSuppressed } from '../../mail-out/queue/recipient-state.ts'
import { comparedAddress, domainOf } from '../../platform/smtp/address.ts'
import type { Statement } from '../../platform/store/database.ts'
import type { IsSuppressed } from '../../mail/suppression/suppression-list.ts'
import type { SigningDomain } from './authorise.ts'

/** The answer to the submitter; a replay with the same idempotency key gets the same one. */
export interface Accepted {
  messageId: string
  /** Includes the angle brackets. */
  messageIdHeader: string
  /** Epoch, ms. */
  createdAt: number
  /** True if an earlier submission with the same idempotency key was accepted, so nothing new was done. */
  replayed: boolean
  status: 'queued' | 'scheduled' | 'suppressed'
  recipients: AcceptedRecipient[]
  /** If it is not normal. */
  priority?: Priority
  /** Header fields that were left out, if any. */
  droppedHeaders?: readonly string[]
  /** True if that is lower than what was asked for. */
  isLowered?: true
}

interface AcceptedRecipient {
  /** `rcp_…` */
  id: string
  address: string
  type: RecipientType
  state: 'queued' | 'scheduled' | 'suppressed'
}

type AdmittedRecipient = NewRecipient & Pick<AcceptedRecipient, 'state'>

/** An authorised submission and its row. */
export interface Admission {
  submission: Submission
  message: MessageRow
}

/** A message as it is about to be written. */
export interface DraftedEmail extends Admission {
  recipients: AdmittedRecipient[]
  /** Those who will get it. */
  waiting: (AdmittedRecipient & WaitingRecipient)[]
  accepted: Accepted
}

/** Mail of one submitter that is about to be written in one batch. */
export interface DraftedMail {
  emails: readonly DraftedEmail[]
  /** What the submitter gets once it is on disk. */
  answer: object
}

export function admissionOf(submission: Submission, domain: SigningDomain | null, now: number): Admission {
  const tracking = trackingFor(submission.options.tracking, domain?.tracking ?? null)
  return { submission, message: messageRow(submission, { domainId: domain?.id ?? null, tracking, now }) }
}

export function draftEmail(admission: Admission, isSuppressed: IsSuppressed, giveUpAfterMs: number): DraftedEmail {
  const recipients = recipientsOf(admission, isSuppressed, giveUpAfterMs)
  const { submission, message } = admission
  return { submission, message, recipients, waiting: recipients.filter(isWaiting), accepted: acceptedOf(admission, recipients) }
}

/** The envelope's recipients, each once, as the first spelling has it. */
function distinctRecipients({ recipients }: Envelope): Iterable<EnvelopeRecipient> {
  if (recipients.length === 1) return recipients
  const byAddress = new Map<string, EnvelopeRecipient>()
  for (const recipient of recipients) {
    const key = comparedAddress(recipient.forwardPath)
    if (!byAddress.has(key)) byAddress.set(key, recipient)
  }
  return byAddress.values()
}

/** The recipients in their initial states. */
function recipientsOf({ submission, message }: Admission, isSuppressed: IsSuppressed, giveUpAfterMs: number): AdmittedRecipient[] {
  const { scheduledAt, expiresIn, unsubscribeTopic, transfer } = submission.options
  const now = message.created_at
  const startAt = Math.max(now, scheduledAt ?? 0)
  const lifetime = expiresIn === null ? giveUpAfterMs : expiresIn * 1000
  const expiresAt = Math.min(startAt + lifetime, returnAtOf(transfer) ?? Infinity)
  return Array.from(distinctRecipients(submission.envelope), ({ forwardPath, type, notify, orcpt }) => {
    const isListed = isSuppressed(forwardPath, unsubscribeTopic) || isSimulatedSuppressed(forwardPath)
    return {
      id: newId('rcp', now),
      message_id: message.id,
      account_id: message.account_id,
      forward_path: forwardPath,
      destination: domainOf(forwardPath),
      type,
      notify,
      orcpt,
      state: isListed ? 'suppressed' : startAt > now ? 'scheduled' : 'queued',
      due_at: isListed ? null : startAt,
      urgent: isUrgent(transfer) ? 1 : 0,
      owner: null,
      expires_at: expiresAt,
    }
  })
}

/** All that is written for a new message, in one batch, except its content. */
export const emailStatements = ({ submission, message, recipients }: DraftedEmail): Statement[] => [
  ...insertMessage(message, submission.options),
  ...recipients.map(insertRecipient),
  ...recipients.flatMap((recipient) => recordAdmitted(message, recipient)),
]

function recordAdmitted(message: MessageRow, recipient: NewRecipient): Statement[] {
  const now = message.created_at
  const about = {
    accountId: message.account_id,
    messageId: message.id,
    recipientId: recipient.id,
    to: recipient.forward_path,
    subject: message.subject,
    sandbox: message.sandbox === 1,
  }
  const queued = recordEvent(about, 'email.queued', { queued_at: isoTime(now) }, now)
  if (recipient.state !== 'suppressed') return [queued]
  return [queued, ...moveSuppressed(now).events.map(({ type, data }) => recordEvent(about, type, data, now))]
}

/** Call it once they are on disk. */
export function logSuppressedOf({ message, recipients, waiting }: DraftedEmail, log: Log): void {
  if (waiting.length === recipients.length) return
  const suppressed = recipients.filter(({ state }) => state === 'suppressed')
  logSuppressed(log, { id: message.id, sandbox: message.sandbox === 1 }, suppressed)
}

/** The answer to the submitter. */
const acceptedOf = ({ submission, message }: Admission, recipients: AdmittedRecipient[]): Accepted => ({
  messageId: message.id,
  messageIdHeader: message.message_id_header,
  createdAt: message.created_at,
  replayed: false,
  status: recipients.find(({ state }) => state !== 'suppressed')?.state ?? 'suppressed',
  recipients: recipients.map(({ id, forward_path: address, type, state }) => ({ id, address, type, state })),
  ...(submission.options.transfer ? { priority: priorityOf(submission.options.transfer) } : {}),
  ...(submission.droppedHeaders ? { droppedHeaders: submission.droppedHeaders } : {}),
  ...(submission.isLowered ? { isLowered: true } : {}),
})
