import type { Router, RouterContext } from '@koa/router'
import type { Permission } from '../account/api-keys.ts'
import { SternaError } from '../errors.ts'
import type { Submitter } from '../message/submission.ts'

/** What every handler under /api finds in `ctx.state`. */
export interface ApiState {
  /** `req_…`, also in the answer and in the log. */
  requestId: string
  /** Whom the API key belongs to. */
  submitter: Submitter & { permission: Permission }
}

export type ApiContext = RouterContext<ApiState>
export type ApiRouter = Router<ApiState>

/**
 * Demands that the key may do this. Full access may do all but an operator's work, an operator may do everything.
 * @throws SternaError `restricted_api_key`
 */
export function requirePermission(ctx: ApiContext, permission: Permission): void {
  const held = ctx.state.submitter.permission
  if (held === permission || held === 'operator' || (held === 'full_access' && permission !== 'operator')) return
  const alternative = permission === 'operator' || permission === 'full_access' ? '' : ' or full_access'
  throw new SternaError(
    'restricted_api_key',
    `This API key has the permission ${held}; this request needs a key with ${permission}${alternative}.`,
  )
}
