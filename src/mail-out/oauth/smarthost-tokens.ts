import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import type { DeriveKey } from '../../platform/key-generations.ts'
import type { Log } from '../../platform/log.ts'
import type { Sealer } from '../../platform/certificate/sealer.ts'
import type { ChangeFollower, Changes } from '../../platform/store/changes.ts'
import type { Database, Row, Statement } from '../../platform/store/database.ts'
import { authorizationUrl, codeParameters } from './authorization.ts'
import type { FetchedToken, GivenTokens } from './fetch-token.ts'
import type { KnownToken } from './known-token.ts'
import { grantId, presentedId, type SmarthostGrant } from './smarthost-grant.ts'

interface TokenServices {
  db: Pick<Database, 'read' | 'write'>
  changes: Changes
  clock: Pick<Clock, 'now'>
  log: Pick<Log, 'info' | 'warn'>
  secrets: Sealer & { deriveKey: DeriveKey }
  /** Asks the token endpoint, within half a minute; never rejects. */
  fetch(grant: SmarthostGrant, parameters: Readonly<Record<string, string>>): Promise<FetchedToken>
}

interface TokenRow extends Row {
  id: string
  tokens: Uint8Array | null
  serial: number
  expires_at: number | null
  fetched_at: number | null
  due_at: number
  failures: number
  fault: string | null
  refused: string | null
  fetching_until: number | null
}

/** What is sealed. */
interface Tokens {
  accessToken: string
  refreshToken: string | null
}

/** What is kept of the tokens, for people. Times are epoch ms. */
export interface TokenState extends Omit<KnownToken, 'accessToken' | 'serial'> {
  hasToken: boolean
  fetchedAt: number | null
  /** When the next is fetched; null: never by itself. */
  dueAt: number | null
}

const kind = 'smarthost_token'
/** How long a fetch may be under way before another node takes it for dead. */
const fetchingMs = 30_000
/** How long before it expires the next token is fetched, at the most. */
const leadMs = 10 * 60_000
/** After a failure the next fetch waits this long, doubling. */
const firstWaitMs = 60_000
const maxWaitMs = 15 * 60_000
/** How long what no node fetches any more is kept. */
const unusedMs = 30 * 24 * 3_600_000

/**
 * The access tokens for the smarthost: fetched ahead of their expiry, sealed in a row for all nodes and the next start, and told to the
 * delivery threads. Of several nodes one fetches at a time. If the provider refuses, nothing is fetched until a human has changed something.
 */
export class SmarthostTokens implements ChangeFollower {
  readonly grant: SmarthostGrant | null
  readonly #services: TokenServices
  readonly #id: string
  #told: (known: KnownToken) => void = () => {}
  /** The fetch of this process. */
  #underWay: Promise<void> | null = null
  /** Of those who wait for the fetch of another node. */
  readonly #waiting = new Set<() => void>()

  /** @param grant null: the smarthost wants no access token, and nothing here is called */
  constructor(services: TokenServices, grant: SmarthostGrant | null) {
    this.grant = grant
    this.#services = services
    this.#id = grant ? grantId(grant) : ''
    if (grant) services.changes.on(kind, this)
  }

  /** Tells what is known, and from now on what becomes known. If none is known, one is fetched meanwhile. */
  async follow(told: (known: KnownToken) => void): Promise<void> {
    this.#told = told
    if (!this.grant) return
    const row = await this.#row()
    // What was refused with other settings says nothing about these. Asked once, or nodes that differ would take turns.
    const isChanged = row !== null && row.refused !== null && !this.#knownFrom(row).isOff
    if (!isChanged) await this.load()
    void this.#fetchOnce(isChanged ? row.serial : null).catch((error: unknown) => this.#failed(error))
  }

  async load(): Promise<void> {
    this.#told(this.#knownFrom(await this.#row()))
  }

  async reload(id: string): Promise<void> {
    if (id !== this.#id) return
    await this.load()
    for (const heard of this.#waiting) heard()
  }

  async known(): Promise<KnownToken> {
    return this.#knownFrom(await this.#row())
  }

  async state(): Promise<TokenState> {
    const row = await this.#row()
    const { accessToken, serial: _, ...known } = this.#knownFrom(row)
    const dueAt = known.isOff ? null : (row?.due_at ?? this.#services.clock.now())
    return { ...known, hasToken: accessToken !== null, fetchedAt: row?.fetched_at ?? null, dueAt }
  }

  /** Fetches the next token if it is time. */
  async keepUp(): Promise<void> {
    if (this.grant) await this.#fetchOnce(null)
  }

  /** The smarthost has refused the token with this serial. Resolves when all has been told; never rejects. */
  async renew(serial: number): Promise<void> {
    const another = this.#anotherFetch()
    try {
      await this.#fetchOnce(serial)
      const row = await this.#row()
      if (row?.serial === serial && (row.fetching_until ?? 0) > this.#services.clock.now()) await another.ended
      await this.load()
    } catch (error) {
      this.#failed(error)
    } finally {
      another.stop()
    }
  }

  /** A human says that the provider may be asked again. */
  async retry(): Promise<TokenState> {
    const row = await this.#row()
    await this.#services.db.write([{ sql: 'update smarthost_token set refused = null where id = :id', params: { id: this.#id } }])
    await this.#fetchOnce(row?.serial ?? 0)
    return this.state()
  }

  /** The page where a person lets us send as the user. @throws SternaError `invalid_state` if the settings name none */
  authorizationUrl(): string {
    const url = authorizationUrl(this.#byPerson(), this.#key('authorization'))
    if (url !== null) return url
    throw new SternaError(
      'invalid_state',
      'The page of this provider is not known. Get a refresh token there, and hand it over with sterna smarthost connect.',
    )
  }

  /** Takes what a person has allowed. Nothing changes if the provider refuses it. @throws SternaError `validation_error` with its reason */
  async connect(given: { address: string } | { refreshToken: string }): Promise<TokenState> {
    const grant = this.#byPerson()
    const parameters = 'address' in given ? codeParameters(given.address, this.#key('authorization')) : refreshing(given.refreshToken)
    if (typeof parameters === 'string') throw new SternaError('validation_error', parameters)
    const fetched = await this.#services.fetch(grant, parameters)
    if ('fault' in fetched) throw new SternaError('validation_error', `No access token was given: ${fetched.fault.reason}`)
    const refreshToken = fetched.refreshToken ?? ('refreshToken' in given ? given.refreshToken : null)
    if (refreshToken === null)
      throw new SternaError('validation_error', 'The provider gave no refresh token. Ask for access while offline.')
    await this.#keep([this.#rowMade(), this.#success({ ...fetched, refreshToken }, null)])
    return this.state()
  }

  #byPerson(): SmarthostGrant {
    if (this.grant?.grant === 'refresh_token') return this.grant
    throw new SternaError('invalid_state', 'The smarthost is not logged in to by refresh_token: see delivery.smarthost_oauth_grant.')
  }

  /** One at a time. @param serial what is to be replaced, due or not; null: only if it is due */
  #fetchOnce(serial: number | null): Promise<void> {
    this.#underWay ??= this.#fetch(serial).finally(() => (this.#underWay = null))
    return this.#underWay
  }

  async #fetch(serial: number | null): Promise<void> {
    const { grant } = this
    const row = await this.#row()
    const tokens = this.#tokensIn(row)
    if (!grant || this.#knownFrom(row).isOff) return
    const before = serial ?? row?.serial ?? 0
    if (!(await this.#claim(before, serial !== null))) return
    const { clock, log, fetch } = this.#services
    const fetched = await fetch(grant, this.#parameters(grant, tokens))
    if (!('fault' in fetched)) {
      log.info({ user: grant.user }, 'there is a new access token for the smarthost')
      const refreshToken = fetched.refreshToken ?? tokens?.refreshToken ?? null
      return this.#keep([this.#success({ ...fetched, refreshToken }, before)])
    }
    const { isRefusal, reason } = fetched.fault
    log.warn({ user: grant.user, reason, isRefusal }, 'no access token for the smarthost could be fetched')
    const waitMs = Math.min(firstWaitMs * 2 ** (row?.failures ?? 0), maxWaitMs)
    const params = { id: this.#id, serial: before, reason, due: clock.now() + waitMs, refused: isRefusal ? this.#presented() : null }
    await this.#keep([{ sql: failureSql, params }])
  }

  #parameters({ grant, scope }: SmarthostGrant, tokens: Tokens | null): Record<string, string> {
    const asked = { ...(scope !== null && { scope }) }
    return grant === 'client_credentials' ? { grant_type: grant, ...asked } : { ...refreshing(tokens?.refreshToken ?? ''), ...asked }
  }

  /** Ends when another node tells what it has fetched, or once it passes for dead. */
  #anotherFetch(): { ended: Promise<void>; stop(): void } {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, fetchingMs)
    this.#waiting.add(resolve)
    const stop = (): void => {
      clearTimeout(timer)
      this.#waiting.delete(resolve)
    }
    return { ended: promise, stop }
  }

  async #claim(serial: number, isForced: boolean): Promise<boolean> {
    const now = this.#services.clock.now()
    const params = { id: this.#id, serial, now, until: now + fetchingMs, forced: Number(isForced) }
    const [, claimed] = await this.#services.db.write([this.#rowMade(), { sql: claimSql, params }])
    return claimed?.changes === 1
  }

  #rowMade(): Statement {
    const params = { id: this.#id, now: this.#services.clock.now() }
    return { sql: 'insert into smarthost_token (id, serial, due_at, failures) values (:id, 0, :now, 0) on conflict do nothing', params }
  }

  async #keep(statements: Statement[]): Promise<void> {
    const { db, changes, clock } = this.#services
    const params = { id: this.#id, unused: clock.now() - unusedMs }
    const old = { sql: 'delete from smarthost_token where id <> :id and coalesce(fetched_at, due_at) < :unused', params }
    await db.write([...statements, old, ...changes.note(kind, this.#id)])
    await this.load()
  }

  /** @param before the serial that it replaces; null: any */
  #success({ accessToken, refreshToken, expiresInMs }: GivenTokens, before: number | null): Statement {
    const { secrets, clock } = this.#services
    const now = clock.now()
    const tokens: Tokens = { accessToken, refreshToken }
    const params = {
      id: this.#id,
      before,
      now,
      tokens: secrets.seal(Buffer.from(JSON.stringify(tokens)), contextOf(this.#id)),
      expires: Math.round(now + expiresInMs),
      due: Math.round(now + expiresInMs - Math.min(leadMs, expiresInMs / 4)),
    }
    return { sql: successSql, params }
  }

  #knownFrom(row: TokenRow | null): KnownToken {
    const tokens = this.#tokensIn(row)
    const common = { serial: row?.serial ?? 0, accessToken: tokens?.accessToken ?? null, expiresAt: row?.expires_at ?? 0 }
    if (this.grant?.grant === 'refresh_token' && !tokens?.refreshToken) return { ...common, trouble: unauthorised, isOff: true }
    const isOff = row !== null && row.refused !== null && row.refused === this.#presented()
    return { ...common, trouble: row?.fault ?? null, isOff }
  }

  /** Null if there are none, or another key file sealed them: then they are fetched anew. */
  #tokensIn(row: TokenRow | null): Tokens | null {
    try {
      if (!row?.tokens) return null
      return JSON.parse(Buffer.from(this.#services.secrets.open(row.tokens, contextOf(this.#id))).toString()) as Tokens
    } catch {
      return null
    }
  }

  #presented(): string {
    return this.grant ? presentedId(this.grant, this.#key('refusal')) : ''
  }

  #key(purpose: string): Buffer {
    return this.#services.secrets.deriveKey(`smarthost ${purpose}`)
  }

  #failed(error: unknown): void {
    this.#services.log.warn({ error }, 'the access token for the smarthost could not be stored or read')
  }

  async #row(): Promise<TokenRow | null> {
    const [row] = await this.#services.db.read<TokenRow>('select * from smarthost_token where id = :id', { id: this.#id })
    return row ?? null
  }
}

const unauthorised = 'nobody has allowed it yet, or what was allowed cannot be read. Run sterna smarthost authorize.'

const contextOf = (id: string): string => `${kind} ${id}`

const refreshing = (refreshToken: string): Record<string, string> => ({ grant_type: 'refresh_token', refresh_token: refreshToken })

const claimSql = `
  update smarthost_token set fetching_until = :until
   where id = :id and serial = :serial and (:forced = 1 or due_at <= :now) and coalesce(fetching_until, 0) not between :now and :until`

const successSql = `
  update smarthost_token set tokens = :tokens, serial = serial + 1, expires_at = :expires, fetched_at = :now, due_at = :due, failures = 0,
         fault = null, refused = null, fetching_until = null
   where id = :id and serial = coalesce(:before, serial)`

/** If somebody has fetched another one meanwhile, the failure is past. */
const failureSql = `
  update smarthost_token set failures = failures + 1, fault = :reason, refused = :refused, due_at = :due, fetching_until = null
   where id = :id and serial = :serial`
