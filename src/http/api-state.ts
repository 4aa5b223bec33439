import type { Router, RouterContext } from '@koa/router'
import type { Actor } from '../account/audit-log.ts'
import type { Right } from '../account/permission.ts'
import { SternaError } from '../errors.ts'
import type { Submitter } from '../message/submission.ts'
import type { Problem } from './problem.ts'

/** Whom a request comes from, a program with a key or a user, and what it may do. */
export interface ApiSubmitter extends Submitter {
  /** True where it may change nothing but what is in the sandbox. On a server in sandbox mode others are in the sandbox too, yet not confined. */
  confined: boolean
  rights: ReadonlySet<Right>
  actor: Actor
}

/** What every handler finds in `ctx.state`. */
export interface ApiState {
  /** `req_…`, also in the answer and in the log. */
  requestId: string
  /** Where the client is, with what trusted proxies say of it. */
  clientAddress: string
  /** Whom the API key or the session's token belongs to; under /api only. */
  submitter: ApiSubmitter
  /** Below the paths of another service's API: how that service words a refusal. */
  refusalForm?: RefusalForm
}

/** What a refusal becomes in the form of another service. */
export type RefusalForm = (problem: Problem, requestId: string) => { status: number; body: object; headers?: Record<string, string> }

export type ApiContext = RouterContext<ApiState>
export type ApiRouter = Router<ApiState>

/** True where the request's holder may do this. */
export const mayDo = (ctx: ApiContext, right: Right): boolean => ctx.state.submitter.rights.has(right)

/** The account whose things the request's holder sees; null for operators, who see everybody's. */
export const visibleAccount = (ctx: ApiContext): string | null => (mayDo(ctx, 'operator') ? null : ctx.state.submitter.accountId)

/**
 * Demands that the request's holder may do this.
 * @throws SternaError `restricted_api_key`
 */
export function requirePermission(ctx: ApiContext, right: Right): void {
  if (mayDo(ctx, right)) return
  const { actor } = ctx.state.submitter
  throw new SternaError(
    'restricted_api_key',
    `${actor.type === 'user' ? 'You' : 'This API key'} may not do this: it takes ${neededFor[right]}.`,
  )
}

/**
 * Demands that the request's holder may change what is live.
 * @throws SternaError `restricted_api_key`
 */
export function requireLive(ctx: ApiContext): void {
  const { actor, confined } = ctx.state.submitter
  if (!confined) return
  const [who, remedy] = actor.type === 'user' ? ['A token for the sandbox', 'token that is not'] : ['A sandbox key', 'live key']
  throw new SternaError('restricted_api_key', `${who} may not do this: it changes what is live. Use a ${remedy}.`)
}

const neededFor: Record<Right, string> = {
  operator: 'the permission operator',
  metrics: 'the permission metrics or operator',
  full_access: 'the permission full_access',
  sending_access: 'the permission sending_access or full_access',
  read_access: 'the permission read_access or full_access',
  user_management: 'an owner or admin of the account who is logged in, or the permission operator',
}
