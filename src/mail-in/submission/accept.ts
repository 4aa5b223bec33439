import type { MailQuotas } from '../../senders/account/mail-quotas.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Log } from '../../platform/log.ts'
import type { Submission } from '../../mail/message/submission.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { QueueRunner } from '../../mail-out/queue/queue-runner.ts'
import { isWaiting, type WaitingRecipient } from '../../mail-out/queue/queue-store.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import type { ErasedAddress } from '../../mail/suppression/erased-address.ts'
import { acceptedOf, admissionBatch, admissionOf, logSuppressedOf, recipientsOf, type Accepted, type Admission } from './admission.ts'
import { countedMail } from './counted-mail.ts'
import { admitUnsuppressed, type Terms } from './admit-unsuppressed.ts'
import { authorise, type AuthoriseServices, type SigningDomain } from './authorise.ts'
import type { IdempotencyKeys, Remember } from './idempotency-keys.ts'
import type { Upload, Uploads } from './upload.ts'

export interface AcceptServices extends AuthoriseServices {
  db: Database
  clock: Clock
  queue: QueueRunner
  uploads: Uploads
  idempotencyKeys: IdempotencyKeys
  erasedAddress: ErasedAddress
  metrics: Pick<Metrics, 'accepted'>
  log: Log
  quotas: Pick<MailQuotas, 'counting'>
  /** How long to retry a recipient if the submission does not say, ms. */
  giveUpAfterMs: number
}

/** `accept`, bound to its services. */
export type Accept = (submission: Submission, besides?: Statement[]) => Promise<Accepted>

/** Reads a submission to its end, with an upload for what should not be held in memory. */
export type Arrive = (upload: Pick<Upload, 'store'>) => Promise<Submission>

/** `accept` for a message that is still arriving. */
export type AcceptArriving = (arrive: Arrive) => Promise<Accepted>

/**
 * The one way for a message into the system. When the promise resolves, the message is on disk: every recipient will either
 * get it or be reported as undeliverable. Nothing stays of a refused message.
 *
 * @param from the submission, or what reads it
 * @param besides written in the same batch as the message: together or not at all
 * @throws ConflictError, UniqueError if that is refused
 * @throws SternaError if the submitter may not send it or has used up a quota, or the idempotency key was used for something else
 * @throws StorageFullError if the disk has no room; nothing was accepted
 */
export function accept(from: Submission | Arrive, services: AcceptServices, besides: Statement[] = []): Promise<Accepted> {
  return services.uploads.run(async (upload) => {
    const submission = typeof from === 'function' ? await from(upload) : from
    const domain = authorise(submission, services)
    upload.require([submission.content])
    const run = (remember?: Remember) => admitMessage({ submission, domain, upload, besides }, services, remember)
    const { idempotency, submitter } = submission
    return idempotency ? services.idempotencyKeys.once(submitter.accountId, idempotency, run) : run()
  })
}

interface Entry {
  submission: Submission
  domain: SigningDomain | null
  upload: Upload
  besides: Statement[]
}

async function admitMessage(entry: Entry, services: AcceptServices, remember: Remember | undefined): Promise<Accepted> {
  const { submission, upload } = entry
  const addresses = [...new Set(submission.envelope.recipients.map(({ forwardPath }) => forwardPath))]
  const admission = { ...admissionOf(submission, entry.domain, services.clock.now()), upload, besides: entry.besides }
  await upload.storeAhead([submission])
  const mail = [{ addresses, topic: submission.options.unsubscribeTopic }]
  const to = { submitter: submission.submitter, mail, now: admission.message.created_at }
  return admitUnsuppressed(to, services, (terms) => admit(admission, { remember, ...terms }, services))
}

async function admit(
  admission: Admission & Pick<Entry, 'upload' | 'besides'>,
  { remember, conditions, isSuppressed }: Terms & { remember: Remember | undefined },
  services: AcceptServices,
): Promise<Accepted> {
  const { submission, message, upload, besides } = admission
  const recipients = recipientsOf(admission, isSuppressed, services.giveUpAfterMs)
  const waiting = recipients.filter(isWaiting)
  const slot = await reserveSlot(submission, waiting, services)
  if (slot) for (const recipient of waiting) recipient.owner = services.queue.owner
  const accepted = acceptedOf(admission, recipients)
  try {
    const before = [...(remember ? [remember(accepted, submission.id)] : []), ...conditions]
    const batch = admissionBatch(admission, recipients)
    await services.quotas.counting(countedMail([admission], [waiting.length]), async (counts) =>
      (await upload.complete([submission], [...before, ...counts, ...batch, ...besides])).slice(before.length),
    )
  } catch (error) {
    slot?.release()
    throw error
  }
  if (slot) {
    services.queue.deliverFresh(message, waiting, submission.content.pending[0] as Uint8Array, slot)
  } else {
    for (const { destination, due_at: dueAt } of waiting) services.queue.noteWaiting(destination, dueAt)
  }
  if (waiting.length < recipients.length) logSuppressedOf(admission, recipients, services.log)
  services.metrics.accepted[submission.source].add()
  return accepted
}

/** Mail that is due at once and fits into memory continues without being read back. */
function reserveSlot(submission: Submission, waiting: WaitingRecipient[], services: AcceptServices) {
  const { size, pending, stored } = submission.content
  const isFresh = waiting.length > 0 && waiting[0]?.state === 'queued' && stored === 0 && pending.length === 1
  return isFresh ? services.queue.reserve(new Set(waiting.map(({ destination }) => destination)), size) : null
}
