import { storedRows } from '../store/stored-rows.ts'
import type { Permission } from './permission.ts'

/** A key as it may be listed; the token itself is not kept. */
export interface ApiKey {
  /** `key_…` */
  id: string
  accountId: string
  name: string
  permission: Permission
  /** The only domain it may send from; null = all of the account's. */
  domainId: string | null
  sandbox: boolean
  /** A sandbox key by itself, whatever the mode of the server. */
  confined: boolean
  /** The first characters of the token. */
  prefix: string
  /** Epoch, ms, like the other times. */
  createdAt: number
  /** Written at most once a minute. */
  lastUsedAt: number | null
  expiresAt: number | null
}

/** A key with the SHA-256 of its token, hex, and of the one before its last rotation. */
export interface StoredApiKey extends Omit<ApiKey, 'confined'> {
  digest: string
  previousDigest: string | null
  /** Until when the token before the last rotation works. */
  previousExpiresAt: number | null
}

export const apiKeyRows = storedRows<StoredApiKey>('api_key')(
  [
    'id',
    'accountId',
    'name',
    'permission',
    'domainId',
    'prefix',
    'digest',
    'previousDigest',
    'previousExpiresAt',
    'createdAt',
    'lastUsedAt',
    'expiresAt',
  ],
  ['sandbox'],
)

/** What may be shown of it. */
export function shownKey(key: StoredApiKey): Omit<ApiKey, 'confined'> {
  const { id, accountId, name, permission, domainId, sandbox, prefix, createdAt, lastUsedAt, expiresAt } = key
  return { id, accountId, name, permission, domainId, sandbox, prefix, createdAt, lastUsedAt, expiresAt }
}
