import type { Row } from '../../platform/store/database.ts'
import { storedRows } from '../../platform/store/stored-rows.ts'
import type { Role } from './permission.ts'

/** Somebody who logs in. Each user belongs to one account. */
export interface User {
  /** `usr_…` */
  id: string
  accountId: string
  /** In lower case; unique in the account. */
  email: string
  role: Role
  /** Whether the user may also use the server-wide routes. */
  operator: boolean
  /** `invited` until a password is set. */
  status: 'active' | 'invited'
  /** Whether a code is required in addition to the password. */
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
  /** Sealed, like the next one. */
  totpSecret: Uint8Array | null
  totpPending: Uint8Array | null
  totpStep: number
}

export const userRows = storedRows<Omit<StoredUser, 'status' | 'hasSecondFactor'>>('account_user')(
  [
    'id',
    'accountId',
    'email',
    'role',
    'password',
    'invitationDigest',
    'invitationExpiresAt',
    'totpSecret',
    'totpPending',
    'totpStep',
    'createdAt',
    'lastLoginAt',
  ],
  ['operator'],
)

export function storedUserOf(row: Row): StoredUser {
  const user = userRows.read(row)
  return { ...user, status: user.password === null ? 'invited' : 'active', hasSecondFactor: user.totpSecret !== null }
}
