import { SternaError } from '../errors.ts'
import type { ApiContext } from './api-state.ts'
import type { RateLimit, RateVerdict } from './rate-limit.ts'
import { windowMs } from './rate-limit-window.ts'

/**
 * Counts a request whose key is valid, and tells the client where it stands: the three fields that many clients know
 * (draft-ietf-httpapi-ratelimit-headers-06), and the two structured ones of later drafts.
 * @throws SternaError `rate_limit_exceeded`
 */
export function limitRate(ctx: ApiContext, accountId: string, rateLimit: Pick<RateLimit, 'take'>): void {
  const verdict = rateLimit.take(accountId)
  for (const [name, value] of fieldsOf(verdict)) ctx.res.setHeader(name, value)
  if (verdict.accepted) return
  const { limit, resetSeconds } = verdict
  throw new SternaError('rate_limit_exceeded', `Your account may make ${limit} requests a minute. Try again in ${resetSeconds} s.`, {
    retryAfter: resetSeconds,
  })
}

const fieldsOf = ({ plan, limit, remaining, resetSeconds }: RateVerdict): [string, string][] => [
  ['RateLimit-Limit', String(limit)],
  ['RateLimit-Remaining', String(remaining)],
  ['RateLimit-Reset', String(resetSeconds)],
  ['RateLimit-Policy', `"${plan}";q=${limit};w=${windowMs / 1000}`],
  ['RateLimit', `"${plan}";r=${remaining};t=${resetSeconds}`],
]
