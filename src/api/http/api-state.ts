import type { Router, RouterContext } from '@koa/router'
import type { Actor } from '../../senders/account/audit-log.ts'
import type { Right } from '../../senders/account/permission.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Submitter } from '../../mail/message/submission.ts'
import type { Problem } from './problem.ts'

/** Who makes a request, a program with a key or a user, and what they may do. */
export interface ApiSubmitter extends Submitter {
  /**
   * True if nothing outside the sandbox may be changed. On a server in sandbox mode, others are in the sandbox too, but not restricted
   * to it.
   */
  confined: boolean
  rights: ReadonlySet<Right>
  actor: Actor
}

/** What every handler finds in `ctx.state`. */
export interface ApiState {
  /** `req_…`, also in the response and in the log. */
  requestId: string
  /** The address of the client, as far as trusted proxies tell it. */
  clientAddress: string
  /** The holder of the API key or of the session's token; under /api only. */
  submitter: ApiSubmitter
  /** Below the paths of another service's API: the form in which that service reports errors. */
  refusalForm?: RefusalForm
}

/** Converts an error to the form of another service. */
export type RefusalForm = (problem: Problem, requestId: string) => { status: number; body: object; headers?: Record<string, string> }

export type ApiContext = RouterContext<ApiState>
export type ApiRouter = Router<ApiState>

/** Whether the holder of the request may do this. */
export const mayDo = (ctx: ApiContext, right: Right): boolean => ctx.state.submitter.rights.has(right)

/** The account whose objects the holder of the request can see; null for operators, who see everybody's. */
export const visibleAccount = (ctx: ApiContext): string | null => (mayDo(ctx, 'operator') ? null : ctx.state.submitter.accountId)

/**
 * Checks that the holder of the request may do this.
 * @throws SternaError `restricted_api_key`
 */
export function requirePermission(ctx: ApiContext, right: Right): void {
  if (mayDo(ctx, right)) return
  const { actor } = ctx.state.submitter
  throw new SternaError(
    'restricted_api_key',
    `${actor.type === 'user' ? 'You are' : 'This API key is'} not allowed to do this: it requires ${neededFor[right]}.`,
  )
}

/**
 * Checks that the holder of the request may change live data.
 * @throws SternaError `restricted_api_key`
 */
export function requireLive(ctx: ApiContext): void {
  const { actor, confined } = ctx.state.submitter
  if (!confined) return
  const [who, remedy] = actor.type === 'user' ? ['A sandbox token', 'live token'] : ['A sandbox key', 'live key']
  throw new SternaError('restricted_api_key', `${who} cannot do this, because it changes live data. Use a ${remedy}.`)
}

/**
 * Checks that the holder of the request is in the sandbox.
 * @throws SternaError `restricted_api_key`
 */
export function requireSandbox(ctx: ApiContext): void {
  if (ctx.state.submitter.sandbox) return
  throw new SternaError('restricted_api_key', 'This is possible in the sandbox only. Use a sandbox key or a sandbox token.')
}

const neededFor: Record<Right, string> = {
  operator: 'the permission operator',
  metrics: 'the permission metrics or operator',
  full_access: 'the permission full_access',
  sending_access: 'the permission sending_access or full_access',
  read_access: 'the permission read_access or full_access',
  user_management: 'an owner or admin of the account who is logged in, or the permission operator',
}
