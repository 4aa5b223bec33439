import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import { newId } from '../id.ts'
import type { Database, Row } from '../store/database.ts'
import type { Accounts, AccountStatus } from './accounts.ts'
import { digestOf, isWellFormed, newToken, shownPrefixOf } from './api-key-token.ts'

/** `operator` opens the server-wide routes; such a key is made on the command line only. */
export const permissions = ['full_access', 'sending_access', 'read_access', 'operator'] as const
export type Permission = (typeof permissions)[number]

/** A key as it may be listed; the token itself is not kept. */
interface ApiKey {
  /** `key_…` */
  id: string
  accountId: string
  name: string
  permission: Permission
  /** The only domain it may send from; null = all of the account's. */
  domainId: string | null
  sandbox: boolean
  /** The first characters of the token. */
  prefix: string
  /** Epoch, ms, like the other times. */
  createdAt: number
  /** Written at most once a minute. */
  lastUsedAt: number | null
  expiresAt: number | null
}

export interface NewApiKey {
  accountId: string
  name: string
  permission: Permission
  domainId?: string | null
  sandbox?: boolean
  expiresAt?: number | null
}

/** What a key allows at this moment. */
export interface AuthenticatedKey {
  id: string
  accountId: string
  permission: Permission
  domainId: string | null
  sandbox: boolean
  accountStatus: AccountStatus
}

/** `invalid`: mistyped, unknown or revoked. */
interface RefusedKey {
  refused: 'invalid' | 'expired'
}

interface ApiKeyRow extends Row {
  id: string
  account_id: string
  name: string
  permission: Permission
  domain_id: string | null
  sandbox: number
  prefix: string
  digest: string
  created_at: number
  last_used_at: number | null
  expires_at: number | null
}

/** A key that works all day is not worth a write a request. */
const lastUsedStepMs = 60_000

/**
 * The API keys. Those in force are held in memory (digest → key), so that a request costs no look-up in the database
 * and a revocation is effective at once, in open SMTP sessions too. Call `load()` once, after the accounts'.
 */
export class ApiKeys {
  readonly #db: Database
  readonly #clock: Clock
  readonly #accounts: Accounts
  readonly #sandboxOnly: boolean
  readonly #byDigest = new Map<string, ApiKey>()
  readonly #byId = new Map<string, { key: ApiKey; digest: string }>()
  readonly #unwritten = new Set<ApiKey>()

  /** `sandboxOnly`: the whole server lets no mail out, so every key is a sandbox key. */
  constructor(parts: { db: Database; clock: Clock; accounts: Accounts; sandboxOnly?: boolean }) {
    this.#db = parts.db
    this.#clock = parts.clock
    this.#accounts = parts.accounts
    this.#sandboxOnly = parts.sandboxOnly ?? false
  }

  async load(): Promise<void> {
    const rows = await this.#db.read<ApiKeyRow>(
      `select id, account_id, name, permission, domain_id, sandbox, prefix, digest, created_at, last_used_at, expires_at
         from api_key where revoked_at is null`,
    )
    this.#byDigest.clear()
    this.#byId.clear()
    for (const row of rows) this.#remember(keyOf(row), row.digest)
  }

  /**
   * Makes a key. The token is in the answer and nowhere else.
   * @throws SternaError `not_found` for the account, `validation_error`
   */
  async create(wanted: NewApiKey): Promise<{ id: string; token: string }> {
    const account = this.#accounts.getAccount(wanted.accountId)
    checkKey(wanted)
    const now = this.#clock.now()
    const sandbox = wanted.sandbox ?? false
    const token = newToken(sandbox)
    const digest = digestOf(token)
    const key: ApiKey = {
      id: newId('key', now),
      accountId: account.id,
      name: wanted.name,
      permission: wanted.permission,
      domainId: wanted.domainId ?? null,
      sandbox,
      prefix: shownPrefixOf(token),
      createdAt: now,
      lastUsedAt: null,
      expiresAt: wanted.expiresAt ?? null,
    }
    await this.#db.write([insertKey(key, digest)])
    this.#remember(key, digest)
    return { id: key.id, token }
  }

  /** Who holds this token. Reads memory only, so it may be asked for every request. */
  authenticate(token: string): AuthenticatedKey | RefusedKey {
    if (!isWellFormed(token)) return { refused: 'invalid' }
    const key = this.#byDigest.get(digestOf(token))
    return key ? this.#inForce(key) : { refused: 'invalid' }
  }

  /** The same question about a key that an open session has shown earlier. */
  current(keyId: string): AuthenticatedKey | RefusedKey {
    const known = this.#byId.get(keyId)
    return known ? this.#inForce(known.key) : { refused: 'invalid' }
  }

  /**
   * Ends a key; when the promise resolves nobody gets in with it.
   * @throws SternaError `not_found` where there is none, or it is revoked already
   */
  async revoke(keyId: string): Promise<void> {
    const known = this.#byId.get(keyId)
    if (!known) throw new SternaError('not_found', `There is no API key "${keyId}" in force.`)
    await this.#db.write([
      {
        sql: 'update api_key set revoked_at = :now where id = :id',
        params: { id: keyId, now: this.#clock.now() },
        expect: 1,
      },
    ])
    this.#byId.delete(keyId)
    this.#byDigest.delete(known.digest)
    this.#unwritten.delete(known.key)
  }

  /** The keys of an account that are not revoked, the oldest first. */
  list(accountId: string): ApiKey[] {
    const keys = [...this.#byDigest.values()].filter((key) => key.accountId === accountId)
    return keys.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((key) => ({ ...key }))
  }

  /** Writes the times of last use that have been gathered, in one batch; to be called about once a minute and at the end. */
  async flush(): Promise<void> {
    const keys = [...this.#unwritten]
    if (keys.length === 0) return
    this.#unwritten.clear()
    try {
      await this.#db.write(
        keys.map((key) => ({
          sql: 'update api_key set last_used_at = :at where id = :id',
          params: { id: key.id, at: key.lastUsedAt },
        })),
      )
    } catch (error) {
      for (const key of keys) if (this.#byId.has(key.id)) this.#unwritten.add(key)
      throw error
    }
  }

  #inForce(key: ApiKey): AuthenticatedKey | RefusedKey {
    const now = this.#clock.now()
    if (key.expiresAt !== null && now >= key.expiresAt) return { refused: 'expired' }
    const account = this.#accounts.accountFor(key.accountId)
    if (!account) return { refused: 'invalid' }
    if (key.lastUsedAt === null || now - key.lastUsedAt >= lastUsedStepMs) {
      key.lastUsedAt = now
      this.#unwritten.add(key)
    }
    return {
      id: key.id,
      accountId: key.accountId,
      permission: key.permission,
      domainId: key.domainId,
      sandbox: key.sandbox || this.#sandboxOnly,
      accountStatus: account.status,
    }
  }

  #remember(key: ApiKey, digest: string): void {
    this.#byDigest.set(digest, key)
    this.#byId.set(key.id, { key, digest })
  }
}

const insertKey = (key: ApiKey, digest: string) => ({
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
    digest,
    createdAt: key.createdAt,
    expiresAt: key.expiresAt,
  },
})

const keyOf = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  permission: row.permission,
  domainId: row.domain_id,
  sandbox: row.sandbox === 1,
  prefix: row.prefix,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
})

function checkKey(wanted: NewApiKey): void {
  if (wanted.name.length > 100) throw new SternaError('validation_error', 'The name of a key has at most 100 characters.')
  if (wanted.domainId && wanted.permission !== 'sending_access') {
    throw new SternaError('validation_error', 'Only a key with permission sending_access can be limited to one domain.')
  }
}
