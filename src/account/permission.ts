/**
 * What an API key may hold. `operator` opens the server-wide routes, `metrics` the metrics and nothing else; only the command
 * line and operators give these two.
 */
export const permissions = ['full_access', 'sending_access', 'read_access', 'metrics', 'operator'] as const
export type Permission = (typeof permissions)[number]

/** What an endpoint may demand: a permission, or to manage the people of an account, which no key of an account may. */
export type Right = Permission | 'user_management'

/** What a user is in an account. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

const rights: Record<Permission | 'administration' | 'membership', ReadonlySet<Right>> = {
  read_access: new Set(['read_access']),
  sending_access: new Set(['sending_access']),
  metrics: new Set(['metrics']),
  membership: new Set(['sending_access', 'read_access']),
  full_access: new Set(['full_access', 'sending_access', 'read_access']),
  administration: new Set(['full_access', 'sending_access', 'read_access', 'user_management']),
  operator: new Set(['operator', 'metrics', 'full_access', 'sending_access', 'read_access', 'user_management']),
}

/** Full access may do all but an operator's work and to manage users; an operator may do everything. */
export const rightsOfKey = (permission: Permission): ReadonlySet<Right> => rights[permission]

/** Owners and admins do everything in their account, members send and read, viewers read. */
export function rightsOfUser({ role, operator }: { role: Role; operator: boolean }): ReadonlySet<Right> {
  if (operator) return rights.operator
  if (role === 'viewer') return rights.read_access
  return role === 'member' ? rights.membership : rights.administration
}
