import { SternaError, type ErrorCode, type FieldFault } from '../errors.ts'
import { BusyError, StorageFullError } from '../store/database.ts'

/** The HTTP status of each code; `configuration` can only be our own fault by the time somebody asks over HTTP. */
export const statusOf: Record<ErrorCode, number> = {
  invalid_json: 400,
  invalid_idempotency_key: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  expired_api_key: 401,
  invalid_session: 401,
  invalid_credentials: 401,
  second_factor_required: 401,
  restricted_api_key: 403,
  foreign_origin: 403,
  domain_not_verified: 403,
  account_suspended: 403,
  not_found: 404,
  method_not_allowed: 405,
  invalid_idempotent_request: 409,
  concurrent_idempotent_requests: 409,
  invalid_state: 409,
  domain_exists: 409,
  account_exists: 409,
  user_exists: 409,
  rotation_in_progress: 409,
  alias_taken: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unsupported_field: 422,
  validation_error: 422,
  missing_required_field: 422,
  invalid_from_address: 422,
  invalid_parameter: 422,
  invalid_attachment: 422,
  invalid_event_type: 422,
  invalid_message: 422,
  too_many_recipients: 422,
  template_not_found: 422,
  template_not_published: 422,
  missing_template_variable: 422,
  rate_limit_exceeded: 429,
  internal_server_error: 500,
  configuration: 500,
  service_unavailable: 503,
  insufficient_storage: 507,
}

/** The reason phrases of RFC 9110 15. */
export const titleOf: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
}

/** A refusal as it is told over HTTP. */
export interface Problem {
  status: number
  name: ErrorCode
  message: string
  faults: FieldFault[] | undefined
  headers: Record<string, string>
}

/** What the caller is told of anything that was thrown; what is not meant for callers becomes a bare 500. */
export function problemOf(error: unknown): Problem {
  const refusal = refusalIn(error)
  const status = statusOf[refusal.code]
  if (status === 500) {
    const message = 'Something went wrong on our side. The request id leads to the reason in the log.'
    return { status, name: 'internal_server_error', message, faults: undefined, headers: {} }
  }
  return { status, name: refusal.code, message: refusal.message, faults: refusal.faults, headers: headersFor(refusal, status) }
}

function refusalIn(error: unknown): SternaError {
  if (error instanceof SternaError) return error
  if (error instanceof StorageFullError) {
    return new SternaError('insufficient_storage', 'The disk of the server is full. Nothing was accepted; try again later.')
  }
  if (error instanceof BusyError) {
    return new SternaError('service_unavailable', 'The database of the server is locked. Nothing was accepted; try again later.')
  }
  return new SternaError('internal_server_error', '')
}

function headersFor(refusal: SternaError, status: number): Record<string, string> {
  if (status === 401) return { 'WWW-Authenticate': 'Bearer' }
  const retryAfter = refusal.retryAfter ?? (status === 503 ? 5 : refusal.code === 'concurrent_idempotent_requests' ? 1 : undefined)
  return retryAfter === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfter))) }
}

/** The body of a refusal. */
export const problemBody = (problem: Problem, requestId: string) => ({
  statusCode: problem.status,
  name: problem.name,
  message: problem.message,
  ...(problem.faults === undefined ? {} : { errors: problem.faults }),
  request_id: requestId,
})

/** The same by RFC 9457, for those who ask for `application/problem+json`. */
export const problemDetails = (problem: Problem, requestId: string, baseUrl: string) => ({
  type: `${baseUrl}/errors/${problem.name}`,
  title: titleOf[problem.status] ?? problem.name,
  status: problem.status,
  detail: problem.message,
  instance: requestId,
  name: problem.name,
  ...(problem.faults === undefined ? {} : { errors: problem.faults }),
})
