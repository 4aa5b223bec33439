import type { Statement } from '../../platform/store/database.ts'
import { systemAccountId } from './system-account.ts'
import type { Role } from './permission.ts'

/** An operator may belong to any account, so all of these changes come one after the other. */
const locks = systemAccountId

/** Users who have not accepted their invitation count as neither. */
const isNotLastOwner = `(role <> 'owner' or password is null or exists (
  select 1 from account_user o where o.account_id = account_user.account_id and o.id <> account_user.id and o.role = 'owner' and o.password is not null))`
const isNotLastOperator = `(operator = 0 or password is null or exists (
  select 1 from account_user o where o.id <> account_user.id and o.operator = 1 and o.password is not null))`

/**
 * Changes no row if the account would be left without an owner, or the server without an operator. Fields that are not given stay as
 * they are.
 */
export const changeUser = (id: string, { role, operator }: { role?: Role | undefined; operator?: boolean | undefined }): Statement => ({
  sql: `update account_user set role = coalesce(:role, role), operator = coalesce(:operator, operator)
         where id = :id and (coalesce(:role, role) = 'owner' or ${isNotLastOwner}) and (coalesce(:operator, operator) = 1 or ${isNotLastOperator})`,
  params: { id, role: role ?? null, operator: operator === undefined ? null : operator ? 1 : 0 },
  expect: 1,
  locks,
})

/** The guard before `deleteUser`, like that of `changeUser`. */
export const shutOutUnlessLast = (id: string): Statement => ({
  sql: `update account_user set password = null where id = :id and ${isNotLastOwner} and ${isNotLastOperator}`,
  params: { id },
  expect: 1,
  locks,
})

/** The guard before all users of an account are deleted: another account has an operator, or this one has none. */
export const demandOtherOperator = (accountId: string): Statement => ({
  sql: `update account set status = status where id = :accountId and (
          not exists (select 1 from account_user u where u.account_id = :accountId and u.operator = 1 and u.password is not null)
          or exists (select 1 from account_user u where u.account_id <> :accountId and u.operator = 1 and u.password is not null))`,
  params: { accountId },
  expect: 1,
  locks,
})

const endSessions = (id: string): Statement => ({ sql: 'delete from user_session where user_id = :id', params: { id } })

/** A user with everything that belongs to it. */
export const deleteUser = (id: string): Statement[] => [
  { sql: 'delete from recovery_code where user_id = :id', params: { id } },
  { sql: 'delete from passkey where user_id = :id', params: { id } },
  endSessions(id),
  { sql: 'delete from account_user where id = :id', params: { id } },
]

/**
 * Sets a new password in place of `shown`. What let somebody in before is over: an invitation that was not taken, a second factor whose
 * setup is under way, and every session.
 */
export const setPassword = (id: string, { hash, shown }: { hash: string; shown: string | null }): Statement[] => [
  {
    sql: `update account_user set password = :hash, invitation_digest = null, invitation_expires_at = null, totp_pending = null
           where id = :id and password = :shown`,
    params: { id, hash, shown },
    expect: 1,
  },
  endSessions(id),
]

/** The same for the user with this invitation, and removes the second factor and the passkeys. If two do this at once, only one succeeds. */
export const takeInvitation = (id: string, { digest, hash, now }: { digest: string; hash: string; now: number }): Statement[] => [
  {
    sql: `update account_user set password = :hash, invitation_digest = null, invitation_expires_at = null, totp_secret = null,
            totp_pending = null
           where id = :id and invitation_digest = :digest and invitation_expires_at > :now`,
    params: { id, hash, digest, now },
    expect: 1,
  },
  { sql: 'delete from recovery_code where user_id = :id', params: { id } },
  { sql: 'delete from passkey where user_id = :id', params: { id } },
  endSessions(id),
]
