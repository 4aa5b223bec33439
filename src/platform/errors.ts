import type { errorTable } from './error-table.ts'

/** A name of the error table, which callers can branch on. */
export type ErrorCode = keyof typeof errorTable

/** One fault in a request. `field` is a path such as `to.0`. */
export interface FieldFault {
  field: string
  code: string
  message: string
  help: string | null
}

/**
 * `params` of a schema's own check, for naming its fault. `error` becomes the name of the whole error. The check's message completes
 * the sentence "The `x` field …".
 */
export interface CheckParams {
  code: string
  error?: ErrorCode
  help?: string
}

/**
 * An error meant for the caller. Anyone may see `message`; `cause` is for the log only. Anything else that is thrown is our own fault and
 * becomes `internal_server_error`.
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

/** The message of any thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
