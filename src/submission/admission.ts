import { isSimulatedSuppressed } from '../delivery/simulator.ts'
import { recordEvent } from '../event/event-log.ts'
import { newId } from '../id.ts'
import { isoTime } from '../iso-time.ts'
import { insertMessage } from '../message/message-store.ts'
import type { SubmittedRecipient, Submission } from '../message/submission.ts'
import { trackingFor, type TrackingOptions } from '../message/tracking-options.ts'
import { insertRecipient, type NewRecipient } from '../queue/queue-store.ts'
import { moveSuppressed } from '../queue/recipient-state.ts'
import { domainOf } from '../smtp/address.ts'
import type { Statement } from '../store/database.ts'
import type { IsSuppressed } from '../suppression/suppression-list.ts'
import type { SigningDomain } from './authorise.ts'

/** What a door tells the submitter. A replay with the same idempotency key gets the same. */
export interface Accepted {
  messageId: string
  /** With its angle brackets. */
  messageIdHeader: string
  /** Epoch, ms. */
  createdAt: number
  /** True where an earlier submission with the same idempotency key was accepted, and nothing new was done. */
  replayed: boolean
  status: 'queued' | 'scheduled' | 'suppressed'
  recipients: AcceptedRecipient[]
}

interface AcceptedRecipient {
  address: string
  type: 'to' | 'cc' | 'bcc'
  state: 'queued' | 'scheduled' | 'suppressed'
}

/** A submission that may go in. */
export interface Admission {
  submission: Submission
  /** The domain that signs; null in the sandbox. */
  domainId: string | null
  /** What is tracked of it; null: nothing. */
  tracking: TrackingOptions | null
  now: number
}

export const admissionOf = (submission: Submission, domain: SigningDomain | null, now: number): Admission => ({
  submission,
  domainId: domain?.id ?? null,
  tracking: trackingFor(submission.tracking, domain?.tracking ?? null),
  now,
})

/** The envelope's recipients, each once, with the state in which it begins. */
export function recipientsOf({ submission, now }: Admission, isSuppressed: IsSuppressed, giveUpAfterMs: number): NewRecipient[] {
  const byAddress = new Map<string, SubmittedRecipient>()
  for (const recipient of submission.recipients) {
    if (!byAddress.has(recipient.mailbox.address)) byAddress.set(recipient.mailbox.address, recipient)
  }
  const startAt = Math.max(now, submission.scheduledAt ?? 0)
  const lifetime = submission.expiresIn === null ? giveUpAfterMs : submission.expiresIn * 1000
  return Array.from(byAddress, ([address, { type, notify, orcpt }]) => {
    const isListed = isSuppressed(address, submission.unsubscribeTopic) || isSimulatedSuppressed(address)
    return {
      id: newId('rcp', now),
      messageId: submission.id,
      accountId: submission.submitter.accountId,
      forwardPath: address,
      destination: domainOf(address),
      type,
      notify,
      orcpt,
      state: isListed ? 'suppressed' : startAt > now ? 'scheduled' : 'queued',
      dueAt: isListed ? null : startAt,
      owner: null,
      expiresAt: startAt + lifetime,
    }
  })
}

/** What is to be written of a message that goes in, in one batch, beside its content. */
export const admissionBatch = (admission: Admission, recipients: NewRecipient[]): Statement[] => [
  ...insertMessage(admission),
  ...recipients.map(insertRecipient),
  ...recipients.flatMap((recipient) => recordAdmitted(admission, recipient)),
]

function recordAdmitted({ submission, now }: Admission, recipient: NewRecipient): Statement[] {
  const about = {
    accountId: recipient.accountId,
    messageId: submission.id,
    recipientId: recipient.id,
    to: recipient.forwardPath,
    subject: submission.subject,
    sandbox: submission.submitter.sandbox,
  }
  const queued = recordEvent(about, 'email.queued', { queued_at: isoTime(now) }, now)
  if (recipient.state !== 'suppressed') return [queued]
  return [queued, ...moveSuppressed(now).events.map(({ type, data }) => recordEvent(about, type, data, now))]
}

/** What the submitter is told. */
export function acceptedOf({ submission, now }: Admission, recipients: NewRecipient[]): Accepted {
  const states = recipients.map(({ state }) => state as AcceptedRecipient['state'])
  return {
    messageId: submission.id,
    messageIdHeader: submission.messageIdHeader,
    createdAt: now,
    replayed: false,
    status: states.find((state) => state !== 'suppressed') ?? 'suppressed',
    recipients: recipients.map(({ forwardPath, type, state }) => ({
      address: forwardPath,
      type,
      state: state as AcceptedRecipient['state'],
    })),
  }
}
