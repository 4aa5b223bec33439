import { SternaError } from '../errors.ts'
import type { Counter, Metrics } from '../metrics/metrics.ts'
import type { ApiContext, ApiState } from './api-state.ts'
import type { RateLimitFailures } from './rate-limit-failures.ts'
import { limitRate } from './rate-limit-fields.ts'
import type { RateLimit } from './rate-limit.ts'

export interface AdmissionParts {
  rateLimit: Pick<RateLimit, 'take'>
  rateLimitFailures: Pick<RateLimitFailures, 'note'>
  metrics: Metrics
}

const failures = new Set(['missing_api_key', 'invalid_api_key', 'expired_api_key', 'invalid_session'])

/**
 * Lets a request in whose holder `authenticate` finds, and counts it: against the account's limit, or where there is no
 * valid key against that of the client's address.
 * @throws SternaError `rate_limit_exceeded`, and what `authenticate` throws
 */
export function admit(ctx: ApiContext, parts: AdmissionParts, authenticate: () => ApiState['submitter']): void {
  const { rateLimits } = parts.metrics
  try {
    ctx.state.submitter = authenticate()
  } catch (error) {
    if (error instanceof SternaError && failures.has(error.code)) {
      counted(rateLimits.failed_authentications, () => parts.rateLimitFailures.note(ctx.state.clientAddress))
    }
    throw error
  }
  counted(rateLimits.account_requests, () => limitRate(ctx, ctx.state.submitter.accountId, parts.rateLimit))
}

function counted(refusals: Counter, limit: () => void): void {
  try {
    limit()
  } catch (error) {
    refusals.add()
    throw error
  }
}
