/**
 * The permissions of an API key. `operator` grants the server-wide routes, `metrics` only the metrics; only the command line and
 * operators can grant these two.
 */
export const permissions = ['full_access', 'sending_access', 'read_access', 'metrics', 'operator'] as const
export type Permission = (typeof permissions)[number]

/** What an endpoint requires: a permission, or the right to manage an account's users, which no API key of an account has. */
export type Right = Permission | 'user_management'

/** A user's role in an account. */
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

/** Full access allows everything except operators' work and managing users; an operator may do everything. */
export const rightsOfKey = (permission: Permission): ReadonlySet<Right> => rights[permission]

/** Owners and admins may do everything in their account, members may send and read, viewers may read. */
export function rightsOfUser({ role, operator }: { role: Role; operator: boolean }): ReadonlySet<Right> {
  if (operator) return rights.operator
  if (role === 'viewer') return rights.read_access
  return role === 'member' ? rights.membership : rights.administration
}
