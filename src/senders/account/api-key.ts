import { storedRows } from '../../platform/store/stored-rows.ts'
import { apiKeyObject, type ApiKeyFields } from './api-key-object.ts'

/** A key as lists show it; the token itself is not stored. */
export interface ApiKey extends ApiKeyFields {
  /** `key_…` */
  id: string
  accountId: string
  /** Whether this is a sandbox key, whatever the mode of the server. */
  confined: boolean
  /** The first characters of the token. */
  prefix: string
  /** Epoch, ms, like the other times. */
  createdAt: number
  /** Written at most once a minute. */
  lastUsedAt: number | null
}

/** A key with the SHA-256 of its token, hex, and that of the token before the last rotation. */
export interface StoredApiKey extends Omit<ApiKey, 'confined'> {
  digest: string
  previousDigest: string | null
  /** When the token before the last rotation stops working. */
  previousExpiresAt: number | null
  /** True if its token stands in the log of the first start. */
  printed: boolean
  /** How often its fields were changed. */
  revision: number
}

export const apiKeyRows = storedRows<StoredApiKey>('api_key')(
  [
    'id',
    'accountId',
    ...apiKeyObject.plain,
    'prefix',
    'digest',
    'previousDigest',
    'previousExpiresAt',
    'createdAt',
    'lastUsedAt',
    'revision',
  ],
  [...apiKeyObject.flags, 'printed'],
)
