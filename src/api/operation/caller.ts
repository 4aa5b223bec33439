import type { Actor } from '../../senders/account/audit-log.ts'
import type { Right } from '../../senders/account/permission.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Submitter } from '../../mail/message/submission.ts'

/** Who makes a call, a program with a key, a user or a command, and what they may do. */
export interface Caller extends Submitter {
  /**
   * True if nothing outside the sandbox may be changed. On a server in sandbox mode, others are in the sandbox too, but not restricted
   * to it.
   */
  confined: boolean
  rights: ReadonlySet<Right>
  actor: Actor
  /** The address of the client, as far as trusted proxies tell it; null for a command. */
  address: string | null
  /** `req_…`, also in the response and in the log; null for a command. */
  requestId: string | null
}

/** Where a call comes from, for limits by address and for what is told of logins; empty for a command. */
export const originOf = ({ address, requestId }: Caller): { address: string; requestId: string } => ({
  address: address ?? '',
  requestId: requestId ?? '',
})

/** Whether the caller may do this. */
export const mayDo = ({ rights }: Caller, right: Right): boolean => rights.has(right)

/** The account whose objects the caller can see; null for operators, who see everybody's. */
export const visibleAccount = (caller: Caller): string | null => (mayDo(caller, 'operator') ? null : caller.accountId)

/**
 * Checks that the caller may do this.
 * @throws SternaError `restricted_api_key`
 */
export function requirePermission(caller: Caller, right: Right): void {
  if (mayDo(caller, right)) return
  throw new SternaError(
    'restricted_api_key',
    `${caller.actor.type === 'user' ? 'You are' : 'This API key is'} not allowed to do this: it requires ${neededFor[right]}.`,
  )
}

/**
 * Checks that the caller may change live data.
 * @throws SternaError `restricted_api_key`
 */
export function requireLive({ actor, confined }: Caller): void {
  if (!confined) return
  const [who, remedy] = actor.type === 'user' ? ['A sandbox token', 'live token'] : ['A sandbox key', 'live key']
  throw new SternaError('restricted_api_key', `${who} cannot do this, because it changes live data. Use a ${remedy}.`)
}

/**
 * Checks that the caller is in the sandbox.
 * @throws SternaError `restricted_api_key`
 */
export function requireSandbox({ sandbox }: Caller): void {
  if (sandbox) return
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
