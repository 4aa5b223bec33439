import { SternaError, type FieldFault, type ErrorCode } from '../../../platform/errors.ts'
import type { Idempotency, Submission } from '../../../mail/message/submission.ts'
import type { LiveTemplate } from '../../../mail/template/live-templates.ts'
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

/** Errors keep their kind across threads; `failure` is an internal fault. */
export type ComposeAnswer =
  | { submission: Submission }
  | { batch: { items: (Submission | { refusal: Refusal })[]; idempotency: Idempotency | null } }
  | { refusal: Refusal }
  | { failure: string }

/** What the thread asks during a job. */
export interface TemplateQuestion {
  wanted: { accountId: string; idOrAlias: string; version: number | null }
}

/** What the main thread sends. */
export type TemplateAnswer = { template: LiveTemplate } | { refusal: Refusal } | { failure: string }

interface Refusal {
  code: ErrorCode
  message: string
  faults: FieldFault[] | undefined
}

/** An error in the form in which it crosses threads. */
export const refusalOf = ({ code, message, faults }: SternaError): Refusal => ({ code, message, faults })

/** The error received from the other thread. */
export const errorOf = ({ code, message, faults }: Refusal): SternaError => new SternaError(code, message, faults ? { faults } : {})

/** A batch in the form in which it crosses threads. */
export const postedBatch = ({ items, idempotency }: ComposedBatch): Extract<ComposeAnswer, { batch: unknown }> => ({
  batch: { items: items.map((item) => (item instanceof SternaError ? { refusal: refusalOf(item) } : item)), idempotency },
})

/** The batch received from the other thread. */
export const receivedBatch = ({ batch: { items, idempotency } }: Extract<ComposeAnswer, { batch: unknown }>): ComposedBatch => ({
  items: items.map((item) => ('refusal' in item ? errorOf(item.refusal) : item)),
  idempotency,
})
