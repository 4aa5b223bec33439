import { createHash } from 'node:crypto'
import type { Submission, Submitter } from '../../message/submission.ts'
import { parseJson } from '../json-body.ts'
import { validate } from '../validate.ts'
import { emailSchema, strictEmailSchema } from './email-schema.ts'
import { submissionFor } from './email-submission.ts'
import type { EmailFrame } from './email-submission.ts'

/** What a request to send says beside its body. */
export interface EmailRequest {
  submitter: Submitter
  /** Whether unknown fields are refused. */
  isStrict: boolean
  idempotencyKey: string | null
}

/**
 * The submission that the body of a request to send makes, its message composed. It takes as long as the body is large.
 * @throws SternaError where the body is refused
 */
export function submissionFrom(body: Buffer, request: EmailRequest, frame: EmailFrame): Promise<Submission> {
  const { submitter, isStrict, idempotencyKey: key } = request
  const email = validate(isStrict ? strictEmailSchema : emailSchema, parseJson(body))
  // The sandbox has keys of its own: a rehearsal must not keep the real mail from being sent.
  const operation = submitter.sandbox ? 'sandbox-send' : 'send'
  const idempotency = key === null ? null : { operation, key, fingerprint: createHash('sha256').update(body).digest('hex') }
  return submissionFor(email, { submitter, idempotency }, frame)
}
