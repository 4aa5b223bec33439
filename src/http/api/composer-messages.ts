import type { FieldFault, ErrorCode } from '../../errors.ts'
import type { Submission } from '../../message/submission.ts'
import type { EmailRequest } from './email-request.ts'
import type { EmailFrame } from './email-submission.ts'

/** What the composer thread is asked. */
export interface ComposeJob {
  body: Uint8Array
  request: EmailRequest
  frame: EmailFrame
}

/** Errors keep their kind across the thread border; `failure` is our own fault. */
export type ComposeAnswer =
  | { submission: Submission }
  | { refusal: { code: ErrorCode; message: string; faults: FieldFault[] | undefined } }
  | { failure: string }
