import { errorTable } from '../../platform/error-table.ts'
import { SternaError, type ErrorCode, type FieldFault } from '../../platform/errors.ts'
import { BusyError, DamagedError, StorageFullError, StorageUnavailableError } from '../../platform/store/database.ts'

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

/** An error as a client sees it over HTTP. */
export interface Problem {
  status: number
  name: ErrorCode
  message: string
  faults: FieldFault[] | undefined
  headers: Record<string, string>
}

/** What the client sees of anything that was thrown; internal errors become a bare 500. */
export function problemOf(error: unknown): Problem {
  const refusal = refusalIn(error)
  const status: number = errorTable[refusal.code].status
  if (refusal.code === 'internal_server_error' || refusal.code === 'configuration') {
    const message = 'Something went wrong on our side. With the request id, the operator can find the cause in the log.'
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
  if (error instanceof StorageUnavailableError) {
    return new SternaError('service_unavailable', 'The database of the server does not answer. Nothing was accepted; try again later.')
  }
  if (error instanceof DamagedError) {
    const message = 'What this request needs is damaged on the disk of the server, and nothing was changed. The operator has to restore it.'
    return new SternaError('damaged_data', message)
  }
  return new SternaError('internal_server_error', '')
}

function headersFor(refusal: SternaError, status: number): Record<string, string> {
  if (status === 401) return { 'WWW-Authenticate': 'Bearer' }
  const retryAfter = refusal.retryAfter ?? (status === 503 ? 5 : refusal.code === 'concurrent_idempotent_requests' ? 1 : undefined)
  return retryAfter === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfter))) }
}

/** The body of an error response. */
export const problemBody = (problem: Problem, requestId: string) => ({
  statusCode: problem.status,
  name: problem.name,
  message: problem.message,
  ...(problem.faults === undefined ? {} : { errors: problem.faults }),
  request_id: requestId,
})

/** The same and the members of RFC 9457, for those who ask for `application/problem+json`: one program reads both. */
export const problemDetails = (problem: Problem, requestId: string, baseUrl: string) => ({
  type: `${baseUrl}/errors/${problem.name}`,
  title: titleOf[problem.status] ?? problem.name,
  status: problem.status,
  detail: problem.message,
  instance: requestId,
  ...problemBody(problem, requestId),
})
