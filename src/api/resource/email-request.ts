import { createHash } from 'node:crypto'
import { SternaError } from '../../platform/errors.ts'
import { withoutOwnMessageFields } from '../../mail/message/check-headers.ts'
import type { Idempotency, Submission, Submitter } from '../../mail/message/submission.ts'
import { bodyLimit } from '../operation/body-limits.ts'
import { parseJson } from '../../platform/parse-json.ts'
import { mistypedMembers } from '../operation/mistyped.ts'
import { validate } from '../operation/validate.ts'
import { emailsOf } from './email-list.ts'
import { emailSchema, strictEmailSchema } from './email-schema.ts'
import { submissionFor, type EmailContext } from './email-submission.ts'
import { withTemplate, type TemplateSource } from './email-template.ts'

/** What a request to send contains in addition to its emails. */
export interface EmailRequest {
  submitter: Submitter
  source: 'api' | 'compat'
  /** Whether unknown fields are refused, and header fields that would be left out. */
  isStrict: boolean
  idempotencyKey: string | null
}

/** JSON as `jsonBytes` has read it, or an object that a compat API built. */
export type EmailSource = Buffer | object

/** What composing the emails of a request needs from the server. */
export interface RequestContext extends EmailContext, TemplateSource {}

/** The emails of one request; each refused one keeps its position. */
export interface ComposedBatch {
  items: (Submission | SternaError)[]
  idempotency: Idempotency | null
}

/**
 * Composes the submission of a request to send. The time it takes grows with the size of the email.
 * @throws SternaError if the email is refused
 */
export function submissionFrom(source: EmailSource, request: EmailRequest, context: RequestContext): Promise<Submission> {
  return submissionOf(valueOf(source), { request, idempotency: idempotencyOf(source, 'send', request) }, context)
}

/**
 * The same for a list of emails. A refused email has its error at its position.
 * @throws SternaError `invalid_json`, `validation_error`, `payload_too_large` if the whole list is refused
 */
export async function batchFrom(source: EmailSource, request: EmailRequest, context: RequestContext): Promise<ComposedBatch> {
  const items: ComposedBatch['items'] = []
  let size = 0
  for (const email of emailsOf(valueOf(source))) {
    const item = await submissionOf(email, { request, idempotency: null }, context).catch(refusalIn)
    if (!(item instanceof SternaError)) size += item.content.size
    if (size > maxBatchBytes) throw batchTooLarge()
    items.push(item)
  }
  return { items, idempotency: idempotencyOf(source, 'send-batch', request) }
}

/** Bytes of all messages of a batch: three times the largest request. Text made from html and templates can exceed it. */
const maxBatchBytes = 3 * bodyLimit

const batchTooLarge = (): SternaError =>
  new SternaError(
    'payload_too_large',
    `The messages of the batch are larger than ${maxBatchBytes / 1024 / 1024} MiB together. Send fewer at a time.`,
  )

function refusalIn(error: unknown): SternaError {
  if (error instanceof SternaError) return error
  throw error
}

async function submissionOf(
  email: unknown,
  { request, idempotency }: { request: EmailRequest; idempotency: Idempotency | null },
  context: RequestContext,
): Promise<Submission> {
  const { submitter, source, isStrict } = request
  const given = validate(isStrict ? strictEmailSchema : emailSchema, email, mistypedMembers(emailSchema, email))
  const complete = await withTemplate(given, submitter.accountId, context)
  const by = { submitter, source, idempotency }
  if (isStrict || !complete.headers) return submissionFor(complete, by, context)
  const { kept, dropped } = withoutOwnMessageFields(complete.headers)
  const submission = await submissionFor({ ...complete, headers: kept }, by, context)
  return dropped.length === 0 ? submission : { ...submission, droppedHeaders: dropped }
}

const valueOf = (source: EmailSource): unknown => (Buffer.isBuffer(source) ? parseJson(source) : source)

/** The sandbox has idempotency keys of its own: a rehearsal must not keep the real mail from being sent. */
function idempotencyOf(
  source: EmailSource,
  operation: string,
  { submitter, source: via, idempotencyKey: key }: EmailRequest,
): Idempotency | null {
  if (key === null) return null
  const compared = Buffer.isBuffer(source) ? source : JSON.stringify(source)
  return {
    operation: `${submitter.sandbox ? 'sandbox-' : ''}${via === 'compat' ? 'compat-' : ''}${operation}`,
    key,
    fingerprint: createHash('sha256').update(compared).digest('hex'),
  }
}
