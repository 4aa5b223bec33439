import type { Row, Statement } from '../store/database.ts'
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

export interface ApiKeyRow extends Row {
  id: string
  account_id: string
  name: string
  permission: Permission
  domain_id: string | null
  sandbox: number
  prefix: string
  digest: string
  previous_digest: string | null
  previous_expires_at: number | null
  created_at: number
  last_used_at: number | null
  expires_at: number | null
}

export const selectApiKeys = `select id, account_id, name, permission, domain_id, sandbox, prefix, digest, previous_digest,
    previous_expires_at, created_at, last_used_at, expires_at
  from api_key where revoked_at is null`

export const storedKeyOf = (row: ApiKeyRow): StoredApiKey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  permission: row.permission,
  domainId: row.domain_id,
  sandbox: row.sandbox === 1,
  prefix: row.prefix,
  digest: row.digest,
  previousDigest: row.previous_digest,
  previousExpiresAt: row.previous_expires_at,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
})

export const insertApiKey = (key: StoredApiKey): Statement => ({
  sql: `insert into api_key (id, account_id, name, permission, domain_id, sandbox, prefix, digest, created_at, expires_at)
        values (:id, :accountId, :name, :permission, :domainId, :sandbox, :prefix, :digest, :createdAt, :expiresAt)`,
  params: {
    id: key.id,
    accountId: key.accountId,
    name: key.name,
    permission: key.permission,
    domainId: key.domainId,
    sandbox: key.sandbox ? 1 : 0,
    prefix: key.prefix,
    digest: key.digest,
    createdAt: key.createdAt,
    expiresAt: key.expiresAt,
  },
})

/** What may be shown of it. */
export function shownKey(key: StoredApiKey): Omit<ApiKey, 'confined'> {
  const { id, accountId, name, permission, domainId, sandbox, prefix, createdAt, lastUsedAt, expiresAt } = key
  return { id, accountId, name, permission, domainId, sandbox, prefix, createdAt, lastUsedAt, expiresAt }
}
