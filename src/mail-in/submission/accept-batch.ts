import { SternaError, type ErrorCode, type FieldFault } from '../../platform/errors.ts'
import type { Idempotency, Submission, Submitter } from '../../mail/message/submission.ts'
import { lookedUp } from '../../platform/store/changes.ts'
import { admissionOf, type Accepted, type Admission, type DraftedEmail } from './admission.ts'
import { admit, type AcceptServices } from './admit.ts'
import { authorise, type SigningDomain } from './authorise.ts'

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
  const authorised: Authorised[] = []
  const refused: RefusedItem[] = []
  for (const [index, item] of batch.items.entries()) {
    const judged = item instanceof SternaError ? item : await judge(item, services)
    if (judged instanceof SternaError) refused.push({ index, error: judged })
    else authorised.push(judged)
  }
  if (batch.mode === 'strict' && refused.length > 0) throw batchRefusal(refused)
  const errors = refused.map(({ index, error: { code, message } }) => ({ index, code, message }))
  if (authorised.length === 0) return { replayed: false, emails: [], errors }
  const { submitter, idempotency } = batch
  return services.uploads.run((upload) => {
    upload.require(authorised.map(({ submission }) => submission.content))
    return services.idempotencyKeys.once(submitter.accountId, idempotency, async (remember) => {
      const now = services.clock.now()
      const admissions: Admission[] = []
      for (const { submission, domain } of authorised)
        admissions.push(admissionOf(await services.urgentMail.ranked(submission), domain, now))
      const answerOf = (emails: DraftedEmail[]): AcceptedBatch => ({
        replayed: false,
        emails: emails.map(({ accepted }) => accepted),
        errors,
      })
      return admit({ submitter, admissions, upload, remember, alsoWrite: [], answerOf }, services)
    })
  })
}

interface Authorised {
  submission: Submission
  domain: SigningDomain | null
}

async function judge(submission: Submission, services: AcceptServices): Promise<Authorised | SternaError> {
  try {
    return { submission, domain: await lookedUp(services, () => authorise(submission, services)) }
  } catch (error) {
    // This is not the fault of one email.
    if (!(error instanceof SternaError) || error.code === 'account_suspended') throw error
    return error
  }
}

/** Why one email of a batch is refused. */
interface RefusedItem {
  /** Its position in the batch, from 0. */
  index: number
  error: SternaError
}

/** More than anybody reads. */
const maxFaults = 100

/** The field that a refusal is about, if the refusal does not name it. */
const fieldOf: Partial<Record<ErrorCode, string>> = {
  domain_not_verified: 'from',
  restricted_api_key: 'from',
  too_many_recipients: 'to',
}

/** The single refusal of a batch that is accepted entirely or not at all; each fault starts with its email: `3.to`. */
function batchRefusal(refused: RefusedItem[]): SternaError {
  const [first] = refused
  if (!first) throw new Error('a batch was refused without a reason')
  const isMixed = refused.some(({ error }) => error.code !== first.error.code)
  const code = first.error.code === 'missing_required_field' && isMixed ? 'validation_error' : first.error.code
  const faults = refused.flatMap(({ index, error }) => faultsOf(error).map((fault) => ({ ...fault, field: placed(index, fault.field) })))
  return new SternaError(code, `Email ${first.index} of the batch: ${first.error.message}`, { faults: faults.slice(0, maxFaults) })
}

const placed = (index: number, field: string): string => (field === '' ? String(index) : `${index}.${field}`)

const faultsOf = ({ code, message, faults }: SternaError): FieldFault[] =>
  faults ?? [{ field: fieldOf[code] ?? '', code, message, help: null }]
