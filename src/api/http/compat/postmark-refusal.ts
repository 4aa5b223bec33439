import type { ErrorCode } from '../../../platform/errors.ts'
import type { Problem } from '../../operation/problem.ts'
import { renamedFields, type CompatApi } from './compat-api.ts'
import { postmarkField } from './postmark-email.ts'

/** Postmark's code for a refusal; 300, an invalid email request, where there is none of its own. */
const codes: Partial<Record<ErrorCode, number>> = {
  missing_api_key: 10,
  invalid_api_key: 10,
  expired_api_key: 10,
  restricted_api_key: 10,
  domain_not_verified: 400,
  invalid_json: 402,
  unsupported_media_type: 409,
  account_suspended: 413,
  template_not_found: 1101,
  template_not_published: 1101,
  not_found: 404,
  method_not_allowed: 404,
  rate_limit_exceeded: 429,
  daily_quota_exceeded: 429,
  monthly_quota_exceeded: 429,
  internal_server_error: 500,
  damaged_data: 500,
  service_unavailable: 503,
  insufficient_storage: 503,
}

/** The statuses that its clients tell apart; what is wrong with an email, or with who sends it, is 422. */
const statuses = new Set([401, 404, 405, 413, 429, 500, 503])

/** What is said of one email; those that were taken have more fields. */
export interface PostmarkAnswer {
  ErrorCode: number
  Message: string
  [field: string]: unknown
}

/** A refusal of one email. */
export const postmarkError = ({ code, message }: { code: ErrorCode; message: string }): PostmarkAnswer => ({
  ErrorCode: codes[code] ?? 300,
  Message: renamedFields(message, postmarkField),
})

/** A refusal of the whole request. */
export function postmarkRefusal(problem: Problem): ReturnType<CompatApi['refusalForm']> {
  const { name: code, message } = problem
  return { status: code === 'restricted_api_key' ? 401 : statusOf(problem.status), body: postmarkError({ code, message }) }
}

function statusOf(status: number): number {
  if (status === 507) return 503
  return statuses.has(status) ? status : 422
}

// The words by which clients find the addresses.
const areInactive = 'Inactive recipients are ones that have generated a hard bounce, a spam complaint, or a manual suppression.'

/** What is answered where nobody is sent to. */
export const inactiveRecipients = (addresses: string[]): PostmarkAnswer => ({
  ErrorCode: 406,
  Message:
    'You tried to send to recipient(s) that have been marked as inactive. ' +
    `Found inactive addresses: ${addresses.join(', ')}. ${areInactive}`,
})

/** What is said beside the ErrorCode 0; `addresses` get nothing. */
export const acceptedMessage = (addresses: string[]): string =>
  addresses.length === 0 ? 'OK' : `Message OK, but will not deliver to these inactive addresses: ${addresses.join(', ')}. ${areInactive}`
