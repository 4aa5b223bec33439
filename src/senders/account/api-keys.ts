import type { BaseServices } from '../../platform/base-services.ts'
import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { refusedAs, UniqueError, type Database, type Statement } from '../../platform/store/database.ts'
import { heldRows } from '../../platform/store/held-list.ts'
import { RevisedList } from '../../platform/store/revised-list.ts'
import type { Accounts, AccountStatus } from './accounts.ts'
import { apiKeyRows, type ApiKey, type StoredApiKey } from './api-key.ts'
import { apiKeyObject, type ApiKeyFields } from './api-key-object.ts'
import { digestOf, isWellFormed, newToken, storedToken, type StoredToken } from './api-key-token.ts'
import type { Permission } from './permission.ts'

interface ApiKeysServices extends Pick<BaseServices, 'db' | 'clock' | 'changes'> {
  accounts: Accounts
  sandboxOnly?: boolean
}

type Required = 'name' | 'permission'
export interface NewApiKey extends Pick<ApiKeyFields, Required>, Partial<Omit<ApiKeyFields, Required>> {
  accountId: string
  /** True if the server's log will hold its token: it is revoked once there is a live key. */
  printed?: boolean
}

/** What can be changed of a key besides its token. */
type ApiKeyChange = Partial<Omit<ApiKeyFields, 'sandbox'>>

/** What a key allows now. */
export interface AuthenticatedKey {
  id: string
  name: string
  accountId: string
  permission: Permission
  domainId: string | null
  sandbox: boolean
  /** True if it may change nothing outside the sandbox, because it is a sandbox key, whatever the mode of the server. */
  confined: boolean
  accountStatus: AccountStatus
  /** Which of its tokens was presented: SHA-256, hex. */
  tokenDigest: string
}

/** How long the old token works beside the new one, and whether to end such a time that still runs. */
interface Overlap {
  overlapMs: number
  force: boolean
}

/** `invalid`: mistyped, unknown or revoked. */
interface RefusedKey {
  refused: 'invalid' | 'expired'
}

/** A key in constant use is not worth a write per request. */
const lastUsedStepMs = 60_000
/** Keys whose last use is written in one batch. */
const writtenAtOnce = 500

/**
 * The valid API keys, held in memory: a request costs no look-up in the database, and a revocation takes effect at once, even in open SMTP
 * sessions. Load the accounts first.
 */
export class ApiKeys extends RevisedList<StoredApiKey> {
  readonly #db: Database
  readonly #clock: Clock
  readonly #accounts: Accounts
  readonly #sandboxOnly: boolean
  /** The token from before a rotation leads to its key too. */
  readonly #byDigest = new Map<string, StoredApiKey>()
  /** The ids of keys whose last use is not written yet. */
  readonly #unwritten = new Set<string>()

  /** `sandboxOnly`: the server lets no mail out, so every key is a sandbox key. */
  constructor(services: ApiKeysServices) {
    const { db, changes } = services
    const select = `select ${apiKeyRows.columns} from api_key`
    super({ kind: 'api_key', changes, fetch: heldRows(db, { select, where: 'revoked_at is null', read: apiKeyRows.read }) })
    this.#db = services.db
    this.#clock = services.clock
    this.#accounts = services.accounts
    this.#sandboxOnly = services.sandboxOnly ?? false
  }

  /**
   * Creates a key. The result is the only place where the token ever appears.
   * @throws SternaError `not_found` for the account, `validation_error`
   */
  async create(wanted: NewApiKey): Promise<{ id: string; token: string }> {
    const token = newToken(wanted.sandbox ?? false)
    return { id: await this.adopt(wanted, storedToken(token)), token }
  }

  /**
   * Creates a key whose token its owner has already. Returns its id. The first live key ends the one that the log holds.
   * @throws SternaError `not_found` for the account, `validation_error`
   */
  async adopt(wanted: NewApiKey, { digest, prefix }: StoredToken): Promise<string> {
    const account = this.#accounts.getAccount(wanted.accountId)
    const now = this.#clock.now()
    checkKey(wanted)
    checkExpiry(wanted.expiresAt, now)
    const key: StoredApiKey = {
      ...apiKeyObject.initial,
      printed: false,
      ...wanted,
      id: newId('key', now),
      accountId: account.id,
      prefix,
      digest,
      previousDigest: null,
      previousExpiresAt: null,
      createdAt: now,
      lastUsedAt: null,
      revision: 0,
    }
    const ids = key.sandbox ? [] : this.inOrder(({ printed }) => printed).map(({ id }) => id)
    const batch = [apiKeyRows.insert(key), ...ids.map((id) => revoke(id, now)), ...this.note(key.id, ...ids)]
    await refusedAs(this.#db.write(batch), UniqueError, tokenUsed)
    for (const id of ids) this.drop(id)
    this.keep(key)
    if (ids.length > 0) await this.changes.seenByAll()
    return key.id
  }

  /** Whether there is a key for real mail. */
  get hasLive(): boolean {
    return this.inOrder(({ sandbox }) => !sandbox).length > 0
  }

  /** Who holds this token. Reads memory only, so it can be called for every request. */
  authenticate(token: string): AuthenticatedKey | RefusedKey {
    return isWellFormed(token) ? this.#inForce(digestOf(token)) : { refused: 'invalid' }
  }

  /** The same for a key that an open session presented earlier. */
  current({ tokenDigest }: Pick<AuthenticatedKey, 'tokenDigest'>): AuthenticatedKey | RefusedKey {
    return this.#inForce(tokenDigest)
  }

  /** @throws SternaError `not_found` if there is none, or it is already revoked */
  get(keyId: string): ApiKey {
    return this.#shown(this.#stored(keyId))
  }

  /**
   * Changes what is given; what the key may do changes at once, even in open SMTP sessions.
   * @throws SternaError `not_found`, `validation_error`
   */
  change(keyId: string, change: ApiKeyChange): Promise<void> {
    return this.revise(keyId, () => this.#change(this.#stored(keyId), change))
  }

  async #change(key: StoredApiKey, change: ApiKeyChange): Promise<void> {
    const after = { ...key, ...change }
    checkKey(after)
    if (after.expiresAt !== key.expiresAt) checkExpiry(after.expiresAt, this.#clock.now())
    const sql = `update api_key set ${apiKeyRows.assignments(apiKeyObject.changeable)}, revision = revision + 1
                  where id = :id and revoked_at is null and revision = :revision`
    await this.#db.write([{ sql, params: apiKeyRows.params(after), expect: 1 }, ...this.note(key.id)])
    await this.reload(key.id)
    await this.changes.seenByAll()
  }

  /** What is kept of the key's token. @throws SternaError `not_found` */
  storedTokenOf(keyId: string): StoredToken {
    const { digest, prefix } = this.#stored(keyId)
    return { digest, prefix }
  }

  /**
   * Gives a key a new token. The old one works for another `overlapMs`; with 0, it no longer works once the promise resolves. `force`
   * ends an overlap that is still running.
   * @throws SternaError `not_found`, `rotation_in_progress`
   */
  async rotate(keyId: string, overlap: Overlap): Promise<{ token: string; previousExpiresAt: number }> {
    const token = newToken(this.#stored(keyId).sandbox)
    return { token, previousExpiresAt: await this.rotateTo(keyId, storedToken(token), overlap) }
  }

  /**
   * Gives a key a token that its owner has already. Returns when the old one stops working (epoch, ms).
   * @throws SternaError `not_found`, `rotation_in_progress`, `validation_error`
   */
  async rotateTo(keyId: string, { digest, prefix }: StoredToken, { overlapMs, force }: Overlap): Promise<number> {
    this.#stored(keyId)
    const now = this.#clock.now()
    const previousExpiresAt = now + overlapMs
    const update = this.#db.write([
      {
        sql: `update api_key set previous_digest = digest, previous_expires_at = :previousExpiresAt, digest = :digest, prefix = :prefix, printed = 0
               where id = :id and revoked_at is null and (previous_expires_at is null or previous_expires_at <= :now or :force = 1)
              returning id`,
        params: { id: keyId, digest, prefix, previousExpiresAt, now, force: force ? 1 : 0 },
      },
      ...this.note(keyId),
    ])
    const [written] = await refusedAs(update, UniqueError, tokenUsed)
    if (written?.rows.length !== 1) {
      throw new SternaError(
        'rotation_in_progress',
        'The token from before the last rotation still works. Wait, or rotate with `force` (--force), which ends it at once.',
      )
    }
    await this.reload(keyId)
    await this.changes.seenByAll()
    return previousExpiresAt
  }

  /**
   * Revokes a key; once the promise resolves, it no longer works at any node.
   * @throws SternaError `not_found` if there is none, or it is already revoked
   */
  async revoke(keyId: string): Promise<void> {
    await this.#revokeThose([this.#stored(keyId).id])
  }

  /** Revokes all keys of an account. */
  async revokeAll(accountId: string): Promise<void> {
    await this.#revokeThose(this.list(accountId).map(({ id }) => id))
  }

  async #revokeThose(ids: string[]): Promise<void> {
    if (ids.length === 0) return
    const now = this.#clock.now()
    await this.#db.write([...ids.map((id) => revoke(id, now)), ...this.note(...ids)])
    for (const id of ids) this.drop(id)
    await this.changes.seenByAll()
  }

  /** The account's keys that are not revoked, oldest first. */
  list(accountId: string): ApiKey[] {
    return this.inOrder((key) => key.accountId === accountId).map((key) => this.#shown(key))
  }

  /** Writes the last-use times collected so far. Call it about once a minute and on shutdown. */
  async flush(): Promise<void> {
    while (this.#unwritten.size > 0) await this.#flushSome()
  }

  async #flushSome(): Promise<void> {
    // Sorted, so that no two processes wait for each other's rows.
    const ids = [...this.#unwritten].slice(0, writtenAtOnce).toSorted()
    for (const id of ids) this.#unwritten.delete(id)
    try {
      await this.#db.write(
        ids.map((id) => ({
          sql: 'update api_key set last_used_at = :at where id = :id and (last_used_at is null or last_used_at < :at)',
          params: { id, at: this.held(id)?.lastUsedAt ?? null },
        })),
      )
    } catch (error) {
      for (const id of ids) if (this.held(id)) this.#unwritten.add(id)
      throw error
    }
  }

  #inForce(tokenDigest: string): AuthenticatedKey | RefusedKey {
    const key = this.#byDigest.get(tokenDigest)
    const now = this.#clock.now()
    const isOver = key !== undefined && tokenDigest !== key.digest && now >= (key.previousExpiresAt ?? 0)
    if (!key || isOver) return { refused: 'invalid' }
    if (key.expiresAt !== null && now >= key.expiresAt) return { refused: 'expired' }
    const account = this.#accounts.accountFor(key.accountId)
    if (!account) return { refused: 'invalid' }
    if (key.lastUsedAt === null || now - key.lastUsedAt >= lastUsedStepMs) {
      key.lastUsedAt = now
      this.#unwritten.add(key.id)
    }
    return {
      id: key.id,
      name: key.name,
      accountId: key.accountId,
      permission: key.permission,
      domainId: key.domainId,
      sandbox: key.sandbox || this.#sandboxOnly,
      confined: key.sandbox,
      accountStatus: account.status,
      tokenDigest,
    }
  }

  /** What may be shown of it. */
  #shown({
    digest: _now,
    previousDigest: _before,
    previousExpiresAt: _until,
    printed: _printed,
    revision: _revision,
    ...key
  }: StoredApiKey): ApiKey {
    return { ...key, sandbox: key.sandbox || this.#sandboxOnly, confined: key.sandbox }
  }

  #stored(keyId: string): StoredApiKey {
    const key = this.held(keyId)
    if (key) return key
    throw new SternaError('not_found', `There is no valid API key "${keyId}".`)
  }

  protected override follow(before: StoredApiKey | undefined, after: StoredApiKey | undefined): void {
    for (const digest of before ? digestsOf(before) : []) this.#byDigest.delete(digest)
    if (!after) {
      this.#unwritten.delete(before?.id ?? '')
      return
    }
    for (const digest of digestsOf(after)) this.#byDigest.set(digest, after)
    // The last use that is not written yet.
    if ((before?.lastUsedAt ?? 0) > (after.lastUsedAt ?? 0)) after.lastUsedAt = before?.lastUsedAt ?? null
  }
}

const digestsOf = ({ digest, previousDigest }: StoredApiKey): string[] => [digest, ...(previousDigest === null ? [] : [previousDigest])]

const revoke = (id: string, now: number): Statement => ({
  sql: 'update api_key set revoked_at = :now where id = :id',
  params: { id, now },
})

function checkKey(wanted: Pick<NewApiKey, 'name' | 'permission' | 'domainId'>): void {
  checkName(wanted.name)
  if (wanted.domainId && wanted.permission !== 'sending_access') {
    throw new SternaError('validation_error', 'Only a key with the permission sending_access can be limited to one domain.')
  }
}

function checkExpiry(expiresAt: number | null | undefined, now: number): void {
  if (typeof expiresAt === 'number' && expiresAt <= now) {
    throw new SternaError('validation_error', 'The expiry time of a key must be in the future.')
  }
}

const tokenUsed = (cause: unknown): SternaError =>
  new SternaError('validation_error', 'Another key has or had this token. Make a new one with: sterna key generate', { cause })

function checkName(name: string): void {
  if (name.length > 100) throw new SternaError('validation_error', 'The name of a key can have at most 100 characters.')
}
