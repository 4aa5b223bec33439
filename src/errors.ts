/** What a caller can branch on. Stable: HTTP answers carry these names, SMTP replies are mapped from them. */
export type ErrorCode =
  | 'invalid_json'
  | 'invalid_idempotency_key'
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'expired_api_key'
  | 'invalid_session'
  | 'invalid_credentials'
  | 'second_factor_required'
  | 'restricted_api_key'
  | 'foreign_origin'
  | 'domain_not_verified'
  | 'account_suspended'
  | 'not_found'
  | 'method_not_allowed'
  | 'invalid_idempotent_request'
  | 'concurrent_idempotent_requests'
  | 'invalid_state'
  | 'domain_exists'
  | 'account_exists'
  | 'user_exists'
  | 'rotation_in_progress'
  | 'alias_taken'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'unsupported_field'
  | 'validation_error'
  | 'missing_required_field'
  | 'invalid_from_address'
  | 'invalid_parameter'
  | 'invalid_attachment'
  | 'invalid_event_type'
  | 'invalid_message'
  | 'too_many_recipients'
  | 'template_not_found'
  | 'template_not_published'
  | 'missing_template_variable'
  | 'rate_limit_exceeded'
  | 'internal_server_error'
  | 'service_unavailable'
  | 'insufficient_storage'
  | 'configuration'

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
