import type { Clock } from '../clock.ts'
import { isSimulatedSuppressed } from '../delivery/simulator.ts'
import { recordEvent } from '../event/event-log.ts'
import { newId } from '../id.ts'
import { insertContent, insertMessage, storeAhead } from '../message/message-store.ts'
import type { SubmittedRecipient, Submission } from '../message/submission.ts'
import type { QueueRunner } from '../queue/queue-runner.ts'
import { insertRecipient } from '../queue/queue-store.ts'
import type { NewRecipient, QueuedMessage, QueuedRecipient } from '../queue/queue-store.ts'
import { moveSuppressed } from '../queue/recipient-state.ts'
import { domainOf } from '../smtp/address.ts'
import { ConflictError } from '../store/database.ts'
import type { Database, Statement } from '../store/database.ts'
import { findSuppressed, noneSuppressed, suppressionAddress } from '../suppression/suppression-list.ts'
import { authorise } from './authorise.ts'
import type { AuthoriseParts } from './authorise.ts'
import type { FreeSpace } from './free-space.ts'
import type { IdempotencyKeys, Remember } from './idempotency-keys.ts'

/** What a door tells the submitter. A replay with the same idempotency key gets the same. */
export interface Accepted {
  messageId: string
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

export interface AcceptParts extends AuthoriseParts {
  db: Database
  clock: Clock
  queue: QueueRunner
  space: FreeSpace
  idempotencyKeys: IdempotencyKeys
  eventsWritten(): void
  /** How long an undelivered recipient is tried where the submission does not say, ms. */
  giveUpAfterMs: number
}

/** The door with its parts given. */
export type Accept = (submission: Submission) => Promise<Accepted>

/** Chunks that go into the batch of the message; more are written ahead, so that no commit gets long. */
const chunksAtOnce = 4

/**
 * The one door through which a message gets into the system, whoever brings it. When the promise resolves, the message
 * is on disk: every recipient will be delivered to, or told to be undeliverable.
 *
 * @throws SternaError where the submitter may not send it, or the idempotency key was used for something else
 * @throws StorageFullError where the disk has no room; nothing was accepted
 */
export async function accept(submission: Submission, parts: AcceptParts): Promise<Accepted> {
  const domain = authorise(submission, parts)
  parts.space.require(submission.content.size)
  const run = (remember?: Remember) => admitMessage(submission, domain?.id ?? null, parts, remember)
  const { idempotency, submitter } = submission
  return idempotency ? parts.idempotencyKeys.once(submitter.accountId, idempotency, run) : run()
}

/**
 * Hardly anybody is on the suppression list: the message is written under the condition that none of its recipients is,
 * and the list is read only where that is refused.
 */
async function admitMessage(
  submission: Submission,
  domainId: string | null,
  parts: AcceptParts,
  remember: Remember | undefined,
): Promise<Accepted> {
  const { submitter } = submission
  const addresses = [...new Set(submission.recipients.map(({ mailbox }) => mailbox.address))]
  const admission = { submission, domainId, remember, now: parts.clock.now() }
  await storeFirstChunks(submission, parts.db)
  const conditions = noneSuppressed(submitter, addresses)
  try {
    return await admit({ ...admission, conditions, suppressed: new Set() }, parts)
  } catch (error) {
    const first = remember ? 1 : 0
    const isSuppression = error instanceof ConflictError && error.statement >= first && error.statement < first + conditions.length
    if (!isSuppression) throw error
    return admit({ ...admission, conditions: [], suppressed: await findSuppressed(parts.db, submitter, addresses) }, parts)
  }
}

interface Admission {
  submission: Submission
  domainId: string | null
  remember: Remember | undefined
  now: number
  /** Statements that must hold when the message is written. */
  conditions: Statement[]
  suppressed: Set<string>
}

async function admit(admission: Admission, parts: AcceptParts): Promise<Accepted> {
  const { submission, domainId, remember, now, conditions } = admission
  const recipients = recipientsOf(admission, parts.giveUpAfterMs)
  const waiting = recipients.filter(({ state }) => state !== 'suppressed')
  const slot = await reserveSlot(submission, waiting, parts)
  if (slot) for (const recipient of waiting) recipient.owner = parts.queue.owner
  const accepted = acceptedOf(submission, recipients, now)
  try {
    await parts.db.write([
      ...(remember ? [remember(accepted, submission.id)] : []),
      ...conditions,
      ...insertMessage(submission, domainId, now),
      ...insertContent(submission.id, submission.content),
      ...recipients.map(insertRecipient),
      ...recipients.flatMap((recipient) => recordAdmitted(submission, recipient, now)),
    ])
  } catch (error) {
    slot?.release()
    throw error
  }
  if (slot) {
    const message = queuedMessage(submission, domainId, now)
    parts.queue.deliverFresh(message, waiting.map(queuedRecipient), submission.content.pending[0] as Uint8Array, slot)
  } else {
    for (const { destination, dueAt } of waiting) parts.queue.noteWaiting(destination, dueAt ?? now)
  }
  parts.eventsWritten()
  return accepted
}

/** The envelope's recipients, each once, with the state in which it begins. */
function recipientsOf({ submission, suppressed, now }: Admission, giveUpAfterMs: number): NewRecipient[] {
  const byAddress = new Map<string, SubmittedRecipient>()
  for (const recipient of submission.recipients) {
    if (!byAddress.has(recipient.mailbox.address)) byAddress.set(recipient.mailbox.address, recipient)
  }
  const startAt = Math.max(now, submission.scheduledAt ?? 0)
  const lifetime = submission.expiresIn === null ? giveUpAfterMs : submission.expiresIn * 1000
  return Array.from(byAddress, ([address, { type, notify, orcpt }]) => {
    const isSuppressed = suppressed.has(suppressionAddress(address)) || isSimulatedSuppressed(address)
    return {
      id: newId('rcp', now),
      messageId: submission.id,
      accountId: submission.submitter.accountId,
      forwardPath: address,
      destination: domainOf(address),
      type,
      notify,
      orcpt,
      state: isSuppressed ? 'suppressed' : startAt > now ? 'scheduled' : 'queued',
      dueAt: isSuppressed ? null : startAt,
      owner: null,
      expiresAt: startAt + lifetime,
    }
  })
}

/** Mail that is due at once and fits into memory goes on without being read back. */
function reserveSlot(submission: Submission, waiting: NewRecipient[], parts: AcceptParts) {
  const { size, pending, stored } = submission.content
  const isFresh = waiting.length > 0 && waiting[0]?.state === 'queued' && stored === 0 && pending.length === 1
  return isFresh ? parts.queue.reserve(new Set(waiting.map(({ destination }) => destination)), size) : null
}

async function storeFirstChunks({ id, content }: Submission, db: Database): Promise<void> {
  while (content.pending.length > chunksAtOnce) {
    const bytes = content.pending.shift() as Uint8Array
    await db.write(storeAhead(id, content.stored, bytes))
    content.stored++
  }
}

function recordAdmitted(submission: Submission, recipient: NewRecipient, now: number): Statement[] {
  const about = {
    accountId: recipient.accountId,
    messageId: submission.id,
    recipientId: recipient.id,
    to: recipient.forwardPath,
    subject: submission.subject,
    sandbox: submission.submitter.sandbox,
  }
  const queued = recordEvent(about, 'email.queued', { queued_at: new Date(now).toISOString() }, now)
  if (recipient.state !== 'suppressed') return [queued]
  return [queued, ...moveSuppressed(now).events.map(({ type, data }) => recordEvent(about, type, data, now))]
}

function acceptedOf(submission: Submission, recipients: NewRecipient[], now: number): Accepted {
  const states = recipients.map(({ state }) => state as AcceptedRecipient['state'])
  return {
    messageId: submission.id,
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

const queuedMessage = (submission: Submission, domainId: string | null, now: number): QueuedMessage => ({
  id: submission.id,
  accountId: submission.submitter.accountId,
  domainId,
  sandbox: submission.submitter.sandbox,
  subject: submission.subject,
  size: submission.content.size,
  bodyType: submission.bodyType,
  smtputf8: submission.smtputf8,
  createdAt: now,
})

const queuedRecipient = ({ id, forwardPath, destination, expiresAt }: NewRecipient): QueuedRecipient => ({
  id,
  forwardPath,
  destination,
  attempts: 0,
  expiresAt,
  lastResponse: null,
  smtpCode: null,
  enhancedStatus: null,
  suppressed: false,
})
