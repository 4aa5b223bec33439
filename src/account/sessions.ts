import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import { newId } from '../id.ts'
import { ConflictError, type Database, type Statement, refusedAs } from '../store/database.ts'
import { storedRows } from '../store/stored-rows.ts'
import { digestOf } from './api-key-token.ts'
import { randomToken } from './link-token.ts'
import { rightsOfUser, type Right } from './permission.ts'
import type { StoredUser, User } from './user.ts'
import type { Users } from './users.ts'

interface SessionsServices {
  db: Database
  clock: Clock
  users: Users
}

/** A login that lasts, as it may be shown to its user. */
export interface Session {
  /** `ses_…` */
  id: string
  userId: string
  /** Of the client that logged in. */
  address: string
  userAgent: string
  /** Epoch, ms, like the other times. */
  createdAt: number
  /** When it was last exchanged for a token. */
  lastSeenAt: number
}

const sessionRows = storedRows<Session & { digest: string }>('user_session')(
  ['id', 'userId', 'digest', 'address', 'userAgent', 'createdAt', 'lastSeenAt'],
  [],
)

interface IssuedToken {
  session: Session
  sandbox: boolean
  confined: boolean
  expiresAt: number
}

/** Whom a token stands for. */
interface Holder {
  user: User
  rights: ReadonlySet<Right>
  sandbox: boolean
  /** True where it may change nothing but what is in the sandbox: of a token that was asked for so. */
  confined: boolean
}

const tokenPrefix = 'sterna_session_'
const tokenMs = 15 * 60_000
/** Of one session: pages that are open side by side each have one. */
const mostTokens = 50
const idleMs = 24 * 3_600_000
const longestMs = 30 * 24 * 3_600_000
const longestUserAgent = 200

/**
 * Logins. The secret of a session travels as a cookie to /session alone, where it is exchanged for tokens of 15 minutes
 * that the API takes. Sessions are stored (as digests) and held in memory, tokens are in memory alone: whatever ends a
 * session, or changes its user, is effective with the next request. Call `load()` once, after the users'.
 */
export class Sessions {
  readonly #services: SessionsServices
  readonly #sandboxOnly: boolean
  readonly #byDigest = new Map<string, Session>()
  /** By the digest of the token, oldest first. */
  readonly #tokens = new Map<string, IssuedToken>()

  /** `sandboxOnly`: the whole server lets no mail out. */
  constructor(services: SessionsServices & { sandboxOnly?: boolean }) {
    this.#services = services
    this.#sandboxOnly = services.sandboxOnly ?? false
  }

  async load(): Promise<void> {
    const rows = await this.#services.db.read(`select ${sessionRows.columns} from user_session`)
    this.#byDigest.clear()
    for (const { digest, ...session } of rows.map(sessionRows.read)) this.#byDigest.set(digest, session)
  }

  /**
   * Begins a session; its secret is in the answer and nowhere else. It is never one that a client brought along.
   * @throws SternaError `invalid_session` where the user is removed at this moment, or has another password by now than
   * the one that was shown
   */
  async begin(user: StoredUser, client: { address: string; userAgent: string }): Promise<{ session: Session; secret: string }> {
    const now = this.#services.clock.now()
    const secret = randomToken()
    const session: Session = {
      id: newId('ses', now),
      userId: user.id,
      address: client.address,
      userAgent: client.userAgent.slice(0, longestUserAgent),
      createdAt: now,
      lastSeenAt: now,
    }
    await this.#writeOrOver([
      {
        sql: 'update account_user set last_login_at = :now where id = :id and password = :password',
        params: { id: user.id, now, password: user.password },
        expect: 1,
      },
      sessionRows.insert({ ...session, digest: digestOf(secret) }),
    ])
    this.#byDigest.set(digestOf(secret), session)
    this.#services.users.keep({ ...this.#services.users.get(user.id), lastLoginAt: now })
    return { session, secret }
  }

  /** The session with this secret; null where there is none, or it has ended. */
  find(secret: string): { session: Session; user: User } | null {
    const session = this.#byDigest.get(digestOf(secret))
    const user = session && this.#userOf(session)
    return session && user ? { session, user } : null
  }

  /**
   * A token for the API, in place of the cookie, which the API does not take.
   * @throws SternaError `invalid_session` where the session ends at this moment
   */
  async exchange(session: Session, { sandbox }: { sandbox: boolean }): Promise<{ token: string; sandbox: boolean; expiresAt: number }> {
    const now = this.#services.clock.now()
    await this.#writeOrOver([
      { sql: 'update user_session set last_seen_at = :now where id = :id', params: { id: session.id, now }, expect: 1 },
    ])
    session.lastSeenAt = now
    const token = tokenPrefix + randomToken()
    const expiresAt = Math.min(now + tokenMs, session.createdAt + longestMs)
    this.#dropTokens((issued) => issued.expiresAt <= now)
    const [oldest, ...others] = [...this.#tokens].filter(([, issued]) => issued.session === session)
    if (oldest && others.length + 1 >= mostTokens) this.#tokens.delete(oldest[0])
    const issued = { session, sandbox: sandbox || this.#sandboxOnly, confined: sandbox, expiresAt }
    this.#tokens.set(digestOf(token), issued)
    return { token, sandbox: issued.sandbox, expiresAt }
  }

  isSessionToken(token: string): boolean {
    return token.startsWith(tokenPrefix)
  }

  /**
   * Whom a token stands for. Reads memory only.
   * @throws SternaError `invalid_session`
   */
  holderOf(token: string): Holder {
    const issued = this.#tokens.get(digestOf(token))
    const user = issued && this.#userOf(issued.session)
    if (!issued || !user || this.#services.clock.now() >= issued.expiresAt) {
      throw new SternaError('invalid_session', 'This token has expired, or its session has ended. Get a new one with POST /session/token.')
    }
    return { user, rights: rightsOfUser(user), sandbox: issued.sandbox, confined: issued.confined }
  }

  /** Those of a user that have not ended, the oldest first. */
  list(userId: string): Session[] {
    const sessions = [...this.#byDigest.values()].filter((session) => session.userId === userId && this.#userOf(session))
    return sessions.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((session) => ({ ...session }))
  }

  /** Ends a session; when the promise resolves neither its cookie nor its tokens let anybody in. */
  async end(sessionId: string): Promise<void> {
    await this.#endThose((session) => session.id === sessionId)
  }

  /** Ends the sessions of a user, but for one. */
  async endAll(userId: string, butSessionId?: string): Promise<void> {
    await this.#endThose((session) => session.userId === userId && session.id !== butSessionId)
  }

  /** Forgets those that have run out, or whose user is gone; to be called now and then. */
  async sweep(): Promise<void> {
    await this.#endThose((session) => this.#userOf(session) === undefined)
  }

  async #endThose(isMeant: (session: Session) => boolean): Promise<void> {
    const meant = [...this.#byDigest].filter(([, session]) => isMeant(session))
    if (meant.length === 0) return
    const ids = new Set(meant.map(([, { id }]) => id))
    await this.#services.db.write([...ids].map((id) => ({ sql: 'delete from user_session where id = :id', params: { id } })))
    for (const [digest] of meant) this.#byDigest.delete(digest)
    this.#dropTokens((issued) => ids.has(issued.session.id))
  }

  /** Undefined where the session has run out, or its user is gone. */
  #userOf({ userId, createdAt, lastSeenAt }: Session): User | undefined {
    const now = this.#services.clock.now()
    if (now >= lastSeenAt + idleMs || now >= createdAt + longestMs) return undefined
    return this.#services.users.find(userId)
  }

  async #writeOrOver(batch: Statement[]): Promise<void> {
    await refusedAs(this.#services.db.write(batch), ConflictError, sessionOver)
  }

  #dropTokens(isOver: (issued: IssuedToken) => boolean): void {
    for (const [digest, issued] of this.#tokens) if (isOver(issued)) this.#tokens.delete(digest)
  }
}

const sessionOver = (): SternaError => new SternaError('invalid_session', 'This session has ended. Log in again.')
