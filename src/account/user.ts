import type { Row, Statement } from '../store/database.ts'
import type { Role } from './permission.ts'

/** Somebody who logs in. Everybody belongs to one account. */
export interface User {
  /** `usr_…` */
  id: string
  accountId: string
  /** In lower case; unique in the installation. */
  email: string
  role: Role
  /** Whether the server-wide routes are open too. */
  operator: boolean
  /** `invited` until a password is set. */
  status: 'active' | 'invited'
  /** Whether a code is asked for beside the password. */
  hasSecondFactor: boolean
  /** Epoch, ms, like the other times. */
  createdAt: number
  lastLoginAt: number | null
  invitationExpiresAt: number | null
}

export interface StoredUser extends User {
  password: string | null
  /** SHA-256 of the invitation's token, hex. */
  invitationDigest: string | null
  /** Sealed, like the next. */
  totpSecret: Uint8Array | null
  totpPending: Uint8Array | null
  totpStep: number
}

export interface UserRow extends Row {
  id: string
  account_id: string
  email: string
  role: Role
  operator: number
  password: string | null
  invitation_digest: string | null
  invitation_expires_at: number | null
  totp_secret: Uint8Array | null
  totp_pending: Uint8Array | null
  totp_step: number
  created_at: number
  last_login_at: number | null
}

export const selectUsers = `select id, account_id, email, role, operator, password, invitation_digest, invitation_expires_at, totp_secret,
    totp_pending, totp_step, created_at, last_login_at
  from account_user`

export const storedUserOf = (row: UserRow): StoredUser => ({
  id: row.id,
  accountId: row.account_id,
  email: row.email,
  role: row.role,
  operator: row.operator === 1,
  status: row.password === null ? 'invited' : 'active',
  hasSecondFactor: row.totp_secret !== null,
  createdAt: row.created_at,
  lastLoginAt: row.last_login_at,
  invitationExpiresAt: row.invitation_expires_at,
  password: row.password,
  invitationDigest: row.invitation_digest,
  totpSecret: row.totp_secret,
  totpPending: row.totp_pending,
  totpStep: row.totp_step,
})

export const insertUser = (user: StoredUser): Statement => ({
  sql: `insert into account_user (id, account_id, email, role, operator, password, invitation_digest, invitation_expires_at, created_at)
        values (:id, :accountId, :email, :role, :operator, :password, :invitationDigest, :invitationExpiresAt, :createdAt)`,
  params: {
    id: user.id,
    accountId: user.accountId,
    email: user.email,
    role: user.role,
    operator: user.operator ? 1 : 0,
    password: user.password,
    invitationDigest: user.invitationDigest,
    invitationExpiresAt: user.invitationExpiresAt,
    createdAt: user.createdAt,
  },
})
