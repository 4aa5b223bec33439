import { SternaError, type ErrorCode } from '../../platform/errors.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import { BusyError, StorageFullError, StorageUnavailableError } from '../../platform/store/database.ts'

export const replyOf = (code: number, enhancedStatus: string, text: string): Reply => ({ code, enhancedStatus, text })

/** A refusal that exists only in SMTP. */
export class SmtpRefusal extends Error {
  readonly reply: Reply

  constructor(reply: Reply) {
    super(reply.text)
    this.name = 'SmtpRefusal'
    this.reply = reply
  }
}

/**
 * Our refusals in SMTP. Everything else is our own fault or nobody's: the client keeps its message and retries, because a mistake of ours
 * must never make it give up a message.
 */
const replyCodes: Partial<Record<ErrorCode, [code: number, enhancedStatus: string]>> = {
  invalid_api_key: [550, '5.7.8'],
  expired_api_key: [550, '5.7.8'],
  restricted_api_key: [550, '5.7.1'],
  domain_not_verified: [550, '5.7.1'],
  account_suspended: [550, '5.7.1'],
  invalid_idempotency_key: [550, '5.6.0'],
  invalid_idempotent_request: [550, '5.5.4'],
  concurrent_idempotent_requests: [451, '4.5.0'],
  payload_too_large: [552, '5.3.4'],
  too_many_recipients: [452, '4.5.3'],
  rate_limit_exceeded: [451, '4.7.1'],
  daily_quota_exceeded: [452, '4.7.1'],
  monthly_quota_exceeded: [452, '4.7.1'],
  insufficient_storage: [452, '4.3.1'],
  service_unavailable: [451, '4.3.0'],
  invalid_message: [550, '5.6.0'],
  invalid_from_address: [550, '5.6.0'],
  validation_error: [550, '5.6.0'],
  missing_required_field: [550, '5.6.0'],
  invalid_parameter: [550, '5.6.0'],
}

/** True if the error is a refusal for the client, and not a fault of ours to investigate. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof SmtpRefusal ||
  error instanceof StorageFullError ||
  error instanceof BusyError ||
  error instanceof StorageUnavailableError ||
  (error instanceof SternaError && replyCodes[error.code] !== undefined)

export const lookUpFailed = replyOf(451, '4.3.0', 'The database does not answer at the moment, try again later')

/** The refusal of a message above the limit. */
export const tooBig = (maxMessageBytes: number): Reply =>
  replyOf(552, '5.3.4', `The message is larger than the ${maxMessageBytes} bytes that this server accepts`)

/** The reply to a message that was not accepted. It reveals nothing about a fault of our own. */
export function refusalFor(error: unknown): Reply {
  if (error instanceof SmtpRefusal) return error.reply
  if (error instanceof StorageFullError) {
    return replyOf(452, '4.3.1', 'The server has no room for more mail at the moment, try again later.')
  }
  const codes = error instanceof SternaError ? replyCodes[error.code] : undefined
  if (!codes || !(error instanceof SternaError)) return replyOf(451, '4.3.0', 'The server failed to accept the message, try again later.')
  return replyOf(...codes, error.message)
}
