import { SternaError, type FieldFault, type ErrorCode } from '../../errors.ts'
import type { Idempotency, Submission } from '../../message/submission.ts'
import type { LiveTemplate } from '../../template/live-templates.ts'
import type { ComposedBatch, EmailRequest } from './email-request.ts'
import type { EmailContext } from './email-submission.ts'

/** What the composer thread is asked. */
export interface ComposeJob {
  /** `one`: the submission of an email; `batch`: those of a list. */
  what: 'one' | 'batch'
  /** Bytes are JSON; they lose the name of their class on the way. */
  source: Uint8Array | object
  request: EmailRequest
  context: EmailContext
}

/** Errors keep their kind across the thread border; `failure` is our own fault. */
export type ComposeAnswer =
  | { submission: Submission }
  | { batch: { items: (Submission | { refusal: Refusal })[]; idempotency: Idempotency | null } }
  | { refusal: Refusal }
  | { failure: string }

/** What the thread asks in the middle of a job. */
export interface TemplateQuestion {
  wanted: { accountId: string; idOrAlias: string; version: number | null }
}

/** What it is told. */
export type TemplateAnswer = { template: LiveTemplate } | { refusal: Refusal } | { failure: string }

interface Refusal {
  code: ErrorCode
  message: string
  faults: FieldFault[] | undefined
}

/** An error as it crosses the border. */
export const refusalOf = ({ code, message, faults }: SternaError): Refusal => ({ code, message, faults })

/** The error that crossed the border. */
export const errorOf = ({ code, message, faults }: Refusal): SternaError => new SternaError(code, message, faults ? { faults } : {})

/** A batch as it crosses the border. */
export const postedBatch = ({ items, idempotency }: ComposedBatch): Extract<ComposeAnswer, { batch: unknown }> => ({
  batch: { items: items.map((item) => (item instanceof SternaError ? { refusal: refusalOf(item) } : item)), idempotency },
})

/** The batch that crossed the border. */
export const receivedBatch = ({ batch: { items, idempotency } }: Extract<ComposeAnswer, { batch: unknown }>): ComposedBatch => ({
  items: items.map((item) => ('refusal' in item ? errorOf(item.refusal) : item)),
  idempotency,
})
