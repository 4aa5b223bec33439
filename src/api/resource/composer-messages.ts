import { SternaError } from '../../platform/errors.ts'
import { errorOf, refusalOf, type Refusal } from '../../platform/job-outcome.ts'
import type { Idempotency, Submission } from '../../mail/message/submission.ts'
import type { ComposedBatch, EmailRequest } from './email-request.ts'
import type { EmailContext } from './email-submission.ts'

/** A job for the composer thread. */
export interface ComposeJob {
  /** `one`: the submission of an email; `batch`: those of a list. */
  what: 'one' | 'batch'
  /** The bytes are JSON; they lose their class in transit. */
  source: Uint8Array | object
  request: EmailRequest
  context: EmailContext
}

/** A batch in the form in which it crosses threads. */
export interface PostedBatch {
  items: (Submission | { refusal: Refusal })[]
  idempotency: Idempotency | null
}

/** What the thread asks during a job. */
export interface TemplateQuestion {
  accountId: string
  idOrAlias: string
  version: number | null
}

/** The batch to send to the other thread. */
export const postedBatch = ({ items, idempotency }: ComposedBatch): PostedBatch => ({
  items: items.map((item) => (item instanceof SternaError ? { refusal: refusalOf(item) } : item)),
  idempotency,
})

/** The batch received from the other thread. */
export const receivedBatch = ({ items, idempotency }: PostedBatch): ComposedBatch => ({
  items: items.map((item) => ('refusal' in item ? errorOf(item.refusal) : item)),
  idempotency,
})
