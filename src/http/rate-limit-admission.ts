import { SternaError } from '../errors.ts'
import type { ApiContext, ApiState } from './api-state.ts'
import type { RateLimitFailures } from './rate-limit-failures.ts'
import { limitRate } from './rate-limit-fields.ts'
import type { RateLimit } from './rate-limit.ts'

export interface AdmissionParts {
  rateLimit: Pick<RateLimit, 'take'>
  rateLimitFailures: Pick<RateLimitFailures, 'note'>
}

const failures = new Set(['missing_api_key', 'invalid_api_key', 'expired_api_key', 'invalid_session'])

/**
 * Lets a request in whose holder `authenticate` finds, and counts it: against the account's limit, or where there is no
 * valid key against that of the client's address.
 * @throws SternaError `rate_limit_exceeded`, and what `authenticate` throws
 */
export function admit(ctx: ApiContext, parts: AdmissionParts, authenticate: () => ApiState['submitter']): void {
  try {
    ctx.state.submitter = authenticate()
  } catch (error) {
    if (error instanceof SternaError && failures.has(error.code)) parts.rateLimitFailures.note(ctx.state.clientAddress)
    throw error
  }
  limitRate(ctx, ctx.state.submitter.accountId, parts.rateLimit)
}
