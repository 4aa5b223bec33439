import type { ServerResponse } from 'node:http'
import { SternaError } from '../../platform/errors.ts'
import { clientNetwork } from '../../platform/ip-address.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import type { Changes } from '../../platform/store/changes.ts'
import type { SharedRate } from '../../platform/store/shared-rate.ts'
import type { ApiContext, ApiState } from './api-state.ts'
import type { RateLimit, RateVerdict } from './rate-limit.ts'

export interface AdmissionServices {
  changes: Pick<Changes, 'caughtUp'>
  rateLimit: Pick<RateLimit, 'take' | 'takeUser'>
  /** By client network, so that guessing gets slow and the log stays readable. */
  failedAuthentications: Pick<SharedRate, 'take'>
  metrics: Metrics
}

const failures = new Set(['missing_api_key', 'invalid_api_key', 'expired_api_key', 'invalid_session'])

const isFailure = (error: unknown): boolean => error instanceof SternaError && failures.has(error.code)

/**
 * Lets a request in whose holder `authenticate` finds, and counts it against the account's limit, or a user's own. A request without a valid
 * key counts against its client's network. That network is never barred: many programs may share an address, and one of them with a wrong key
 * must not shut the others out.
 * @returns a promise if the holder is not known yet, because another node has just made the key, or if other nodes may have to leave it a part
 *   of the limit
 * @throws SternaError `rate_limit_exceeded`, and what `authenticate` throws
 */
export function admit(ctx: ApiContext, services: AdmissionServices, authenticate: () => ApiState['caller']): void | Promise<void> {
  try {
    ctx.state.caller = authenticate()
  } catch (error) {
    if (isFailure(error)) return admitLater(ctx, services, authenticate, error)
    throw error
  }
  return limitRequests(ctx, services)
}

async function admitLater(
  ctx: ApiContext,
  services: AdmissionServices,
  authenticate: () => ApiState['caller'],
  failure: unknown,
): Promise<void> {
  const hasLearned = await services.changes.caughtUp()
  try {
    if (!hasLearned) throw failure
    ctx.state.caller = authenticate()
  } catch (error) {
    if (isFailure(error)) await limitFailures(ctx, services)
    throw error
  }
  await limitRequests(ctx, services)
}

async function limitFailures(ctx: ApiContext, { failedAuthentications, metrics }: AdmissionServices): Promise<void> {
  const waitMs = await failedAuthentications.take(clientNetwork(ctx.state.clientAddress))
  if (waitMs === 0) return
  metrics.rateLimits.failed_authentications.add()
  const message = 'Too many requests from your address had no valid API key. Requests with a valid key are still accepted.'
  throw new SternaError('rate_limit_exceeded', message, { retryAfter: waitMs / 1000 })
}

function limitRequests(ctx: ApiContext, services: AdmissionServices): void | Promise<void> {
  const { rateLimit } = services
  const { accountId, actor } = ctx.state.caller
  const verdict = actor.type === 'user' ? rateLimit.takeUser(actor.id ?? accountId) : rateLimit.take(accountId)
  return verdict instanceof Promise ? verdict.then((known) => judge(ctx, known, services)) : judge(ctx, verdict, services)
}

/** @throws SternaError `rate_limit_exceeded` */
function judge(ctx: ApiContext, verdict: RateVerdict, { metrics }: AdmissionServices): void {
  const isUser = ctx.state.caller.actor.type === 'user'
  tell(ctx.res, verdict)
  if (verdict.accepted) return
  metrics.rateLimits[isUser ? 'user_requests' : 'account_requests'].add()
  const { limit, resetSeconds } = verdict
  const message = `${isUser ? 'You' : 'Your account'} may make ${limit} requests a minute. Try again in ${resetSeconds} s.`
  throw new SternaError('rate_limit_exceeded', message, { retryAfter: resetSeconds })
}

/** The three fields that many clients know (draft-ietf-httpapi-ratelimit-headers-06), and the two structured ones of later drafts. */
function tell(res: ServerResponse, { plan, limit, remaining, resetSeconds }: RateVerdict): void {
  res.setHeader('RateLimit-Limit', String(limit))
  res.setHeader('RateLimit-Remaining', String(remaining))
  res.setHeader('RateLimit-Reset', String(resetSeconds))
  res.setHeader('RateLimit-Policy', `"${plan}";q=${limit};w=${minuteMs / 1000}`)
  res.setHeader('RateLimit', `"${plan}";r=${remaining};t=${resetSeconds}`)
}
