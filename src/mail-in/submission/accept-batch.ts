import { SternaError, type ErrorCode } from '../../platform/errors.ts'
import type { Idempotency, Submission, Submitter } from '../../mail/message/submission.ts'
import { admissionOf, type Accepted, type Admission, type DraftedEmail } from './admission.ts'
import { admit, type AcceptServices } from './admit.ts'
import { authorise } from './authorise.ts'
import { batchRefusal, type RefusedItem } from './batch-refusal.ts'

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
 * at all. They go through the queue.
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
    return services.idempotencyKeys.once(submitter.accountId, idempotency, (remember) => {
      const answerOf = (emails: DraftedEmail[]): AcceptedBatch => ({
        replayed: false,
        emails: emails.map(({ accepted }) => accepted),
        errors,
      })
      return admit({ submitter, admissions, upload, remember, alsoWrite: [], answerOf }, services)
    })
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
