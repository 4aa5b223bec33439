import type { errorTable } from './error-table.ts'

/** What a caller can branch on: a name of the error table. */
export type ErrorCode = keyof typeof errorTable

/** One fault in what a caller sent. `field` is a path such as `to.0`. */
export interface FieldFault {
  field: string
  code: string
  message: string
  help: string | null
}

/**
 * A refusal in words for the caller. `message` may be shown to anyone; `cause` is for the log only.
 * Anything thrown that is not a SternaError is our own fault and becomes `internal_server_error`.
 */
export class SternaError extends Error {
  readonly code: ErrorCode
  readonly faults: FieldFault[] | undefined
  /** Seconds after which the same request may succeed. */
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, more: { faults?: FieldFault[]; retryAfter?: number; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'SternaError'
    this.code = code
    this.faults = more.faults
    this.retryAfter = more.retryAfter
  }
}

/** The message of anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
