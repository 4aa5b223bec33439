import { SternaError, type ErrorCode } from '../../platform/errors.ts'
import type { Idempotency, Submission, Submitter } from '../../mail/message/submission.ts'
import { isWaiting, type WaitingRecipient } from '../../mail-out/queue/queue-store.ts'
import type { Statement } from '../../platform/store/database.ts'
import type { AddressedMail } from '../../mail/suppression/suppression-list.ts'
import type { AcceptServices } from './accept.ts'
import { acceptedOf, admissionBatch, admissionOf, logSuppressedOf, recipientsOf, type Accepted, type Admission } from './admission.ts'
import { admitUnsuppressed, type Terms } from './admit-unsuppressed.ts'
import { authorise } from './authorise.ts'
import { batchRefusal, type RefusedItem } from './batch-refusal.ts'
import { countedMail } from './counted-mail.ts'
import type { Remember } from './idempotency-keys.ts'
import type { Upload } from './upload.ts'

/** Several messages of one submitter, submitted together. */
interface SubmissionBatch {
  submitter: Submitter
  /** In order; a message that was refused earlier keeps its position. */
  items: (Submission | SternaError)[]
  /** `strict`: all of them or none; `permissive`: those that are valid. */
  mode: 'strict' | 'permissive'
  /** For the whole batch; that of a single submission does not count. */
  idempotency: Idempotency | null
}

/** The answer to the submitter of a batch. A replay with the same idempotency key gets the same. */
export interface AcceptedBatch {
  replayed: boolean
  /** In the order of the batch. */
  emails: Accepted[]
  /** The refused ones; none in strict mode. `index` counts from 0. */
  errors: { index: number; code: ErrorCode; message: string }[]
}

/** `acceptBatch`, bound to its services. */
export type AcceptBatch = (batch: SubmissionBatch) => Promise<AcceptedBatch>

/**
 * Like `accept`, for several messages: one write contains all accepted messages, so that they are on disk together or not
 * at all. They go through the queue, because they would fill the memory that single messages pass through.
 *
 * @throws SternaError if nothing is accepted: in strict mode the first refusal, with the faults of all messages
 * @throws StorageFullError if the disk has no room; nothing was accepted
 */
export async function acceptBatch(batch: SubmissionBatch, services: AcceptServices): Promise<AcceptedBatch> {
  const now = services.clock.now()
  const admissions: Admission[] = []
  const refused: RefusedItem[] = []
  for (const [index, item] of batch.items.entries()) {
    const judged = item instanceof SternaError ? item : judge(item, now, services)
    if (judged instanceof SternaError) refused.push({ index, error: judged })
    else admissions.push(judged)
  }
  if (batch.mode === 'strict' && refused.length > 0) throw batchRefusal(refused)
  const errors = refused.map(({ index, error: { code, message } }) => ({ index, code, message }))
  if (admissions.length === 0) return { replayed: false, emails: [], errors }
  const { submitter, idempotency } = batch
  return services.uploads.run((upload) => {
    upload.require(admissions.map(({ submission }) => submission.content))
    const run = (remember?: Remember) => admitAll({ admissions, errors, submitter, upload }, services, remember)
    return idempotency ? services.idempotencyKeys.once(submitter.accountId, idempotency, run) : run()
  })
}

function judge(submission: Submission, now: number, services: AcceptServices): Admission | SternaError {
  try {
    return admissionOf(submission, authorise(submission, services), now)
  } catch (error) {
    // This is not the fault of one email.
    if (!(error instanceof SternaError) || error.code === 'account_suspended') throw error
    return error
  }
}

interface Admissions {
  admissions: Admission[]
  errors: AcceptedBatch['errors']
  submitter: Submitter
  upload: Upload
}

async function admitAll(all: Admissions, services: AcceptServices, remember: Remember | undefined): Promise<AcceptedBatch> {
  const submissions = all.admissions.map(({ submission }) => submission)
  await all.upload.storeAhead(submissions)
  const to = { submitter: all.submitter, mail: addressedMail(submissions), now: services.clock.now() }
  return admitUnsuppressed(to, services, (terms) => writeAll(all, { remember, ...terms }, services))
}

/** The addresses of all messages, separately for each topic. */
function addressedMail(submissions: Submission[]): AddressedMail[] {
  const byTopic = Map.groupBy(submissions, ({ options }) => options.unsubscribeTopic)
  return Array.from(byTopic, ([topic, ofTopic]) => ({
    topic,
    addresses: [...new Set(ofTopic.flatMap(({ envelope }) => envelope.recipients.map(({ forwardPath }) => forwardPath)))],
  }))
}

async function writeAll(
  { admissions, errors, upload }: Admissions,
  { remember, conditions, isSuppressed }: Terms & { remember: Remember | undefined },
  { queue, metrics, quotas, giveUpAfterMs, log }: AcceptServices,
): Promise<AcceptedBatch> {
  const emails: Accepted[] = []
  const waiting: WaitingRecipient[] = []
  const statements: Statement[] = []
  const counted: number[] = []
  const withSuppressed: Parameters<typeof logSuppressedOf>[] = []
  let heldUp = 0
  for (const admission of admissions) {
    const recipients = recipientsOf(admission, isSuppressed, giveUpAfterMs)
    emails.push(acceptedOf(admission, recipients))
    const ofOne = recipients.filter(isWaiting)
    if (ofOne.length < recipients.length) withSuppressed.push([admission, recipients, log])
    counted.push(ofOne.length)
    waiting.push(...ofOne)
    statements.push(...admissionBatch(admission, recipients))
    heldUp += recipients.length
    if (heldUp < recipientsAtOnce) continue
    heldUp = 0
    await othersTurn()
  }
  const accepted: AcceptedBatch = { replayed: false, emails, errors }
  const submissions = admissions.map(({ submission }) => submission)
  const before = [...(remember ? [remember(accepted, null)] : []), ...conditions]
  await quotas.counting(countedMail(admissions, counted), async (counts) =>
    (await upload.complete(submissions, [...before, ...counts, ...statements])).slice(before.length),
  )
  for (const [destination, dueAt] of firstDue(waiting)) queue.noteWaiting(destination, dueAt)
  for (const each of withSuppressed) logSuppressedOf(...each)
  for (const { source } of submissions) metrics.accepted[source].add()
  return accepted
}

/** A batch may have five thousand recipients, so other connections get their turn in between. */
const recipientsAtOnce = 500

const othersTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function firstDue(recipients: WaitingRecipient[]): Map<string, number> {
  const dueAt = new Map<string, number>()
  for (const recipient of recipients) {
    dueAt.set(recipient.destination, Math.min(dueAt.get(recipient.destination) ?? Infinity, recipient.due_at))
  }
  return dueAt
}
