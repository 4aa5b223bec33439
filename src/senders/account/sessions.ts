import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { ConflictError, type Statement, type Written, refusedAs } from '../../platform/store/database.ts'
import { HeldList, heldRows } from '../../platform/store/held-list.ts'
import { storedRows } from '../../platform/store/stored-rows.ts'
import type { Accounts } from './accounts.ts'
import { digestOf } from './api-key-token.ts'
import type { Secrets } from './key-file.ts'
import { randomToken } from './link-token.ts'
import { rightsOfUser, type Right } from './permission.ts'
import { SessionTokens, type IssuedToken } from './session-tokens.ts'
import type { StoredUser, User } from './user.ts'
import type { Users } from './users.ts'

interface SessionsServices extends Pick<BaseServices, 'db' | 'clock' | 'changes'> {
  users: Users
  accounts: Pick<Accounts, 'accountFor'>
  secrets: Pick<Secrets, 'generations'>
}

/** A lasting login, as its user may see it. */
export interface Session {
  /** `ses_…` */
  id: string
  userId: string
  /** The address of the client that logged in. */
  address: string
  userAgent: string
  /** Epoch, ms, like the other times. */
  createdAt: number
  /** When it was last exchanged for a token, to within a minute. */
  lastSeenAt: number
}

/** With the SHA-256 of its secret, hex. */
type StoredSession = Session & { digest: string }

const sessionRows = storedRows<StoredSession>('user_session')(
  ['id', 'userId', 'digest', 'address', 'userAgent', 'createdAt', 'lastSeenAt'],
  [],
)

/** Whom a token identifies. */
interface Holder {
  user: User
  /** The account in which the user acts. */
  accountId: string
  rights: ReadonlySet<Right>
  sandbox: boolean
  /** True if it may change nothing outside the sandbox, because the token was requested that way. */
  confined: boolean
}

const tokenMs = 15 * 60_000
/** Per user: one more ends the one that has rested longest. */
const maxSessions = 20
/** A session in constant use is not worth a write per token. */
const lastSeenStepMs = 60_000
/** What other nodes are told when several sessions of a user may have changed, with the user's id. */
const ofUser = 'user_session of a user'
const idleMs = 24 * 3_600_000
const maxMs = 30 * 24 * 3_600_000
const maxUserAgentLength = 200

/**
 * Logins, a bounded number per user. The secret of a session travels as a cookie to /session only, where it is exchanged for tokens that
 * the API accepts for 15 minutes. Sessions are stored (as digests) and held in memory; what memory does not know, another node may have begun
 * or used, so the database is asked before it is refused. Whatever ends a session or changes its user takes effect with the next request. Load
 * the users first.
 */
export class Sessions extends HeldList<StoredSession> {
  readonly #services: SessionsServices
  readonly #sandboxOnly: boolean
  readonly #byDigest = new Map<string, StoredSession>()
  readonly #tokens: SessionTokens

  /** `sandboxOnly`: the server lets no mail out. */
  constructor(services: SessionsServices & { sandboxOnly?: boolean }) {
    const { db, changes } = services
    super({
      kind: 'user_session',
      changes,
      fetch: heldRows(db, { select: `select ${sessionRows.columns} from user_session`, read: sessionRows.read }),
    })
    changes.on(ofUser, { reload: (userId) => this.#readThoseOf(userId), load: async () => {} })
    this.#services = services
    this.#tokens = new SessionTokens(services.secrets)
    this.#sandboxOnly = services.sandboxOnly ?? false
  }

  /**
   * Begins a session. The result is the only place where its secret ever appears; it is never one that the client supplied.
   * @throws SternaError `invalid_session` if the user is being removed, or the password has changed since it was checked
   */
  async begin(user: StoredUser, client: { address: string; userAgent: string }): Promise<{ session: Session; secret: string }> {
    const now = this.#services.clock.now()
    const secret = randomToken()
    const session: StoredSession = {
      id: newId('ses', now),
      userId: user.id,
      address: client.address,
      userAgent: client.userAgent.slice(0, maxUserAgentLength),
      createdAt: now,
      lastSeenAt: now,
      digest: digestOf(secret),
    }
    const written = await this.#writeOrOver([
      {
        sql: 'update account_user set last_login_at = :now where id = :id and password = :password',
        params: { id: user.id, now, password: user.password },
        expect: 1,
      },
      sessionRows.insert(session),
      ...this.changes.note(ofUser, user.id),
      endSurplus(session),
    ])
    for (const { id } of written.at(-1)?.rows ?? []) this.drop(String(id))
    this.keep(session)
    await this.#services.users.reload(user.id)
    return { session, secret }
  }

  /** The session with this secret; null if there is none or it has ended. */
  async find(secret: string): Promise<{ session: Session; user: User } | null> {
    const digest = digestOf(secret)
    const known = this.#inForce(this.#byDigest.get(digest))
    if (known) return known
    const [row] = await this.#services.db.read<{ id: string }>('select id from user_session where digest = :digest', { digest })
    return row ? this.#readAnew(row.id) : null
  }

  /**
   * A token for the API, which does not accept the cookie.
   * @param wish `accountId`: an account other than the user's own, which only operators may act in
   * @throws SternaError `invalid_session` if the session is just ending
   */
  async exchange(
    session: Session,
    { sandbox, accountId = null }: { sandbox: boolean; accountId?: string | null },
  ): Promise<{ token: string; sandbox: boolean; expiresAt: number }> {
    const now = this.#services.clock.now()
    if (now - session.lastSeenAt >= lastSeenStepMs) {
      await this.#writeOrOver([
        { sql: 'update user_session set last_seen_at = :now where id = :id', params: { id: session.id, now }, expect: 1 },
        ...this.note(session.id),
      ])
      await this.reload(session.id)
    }
    if (!this.held(session.id)) throw sessionOver()
    const expiresAt = Math.min(now + tokenMs, session.createdAt + maxMs)
    const issued = { sessionId: session.id, accountId, sandbox: sandbox || this.#sandboxOnly, confined: sandbox, expiresAt }
    return { token: this.#tokens.issue(issued), sandbox: issued.sandbox, expiresAt }
  }

  isSessionToken(token: string): boolean {
    return this.#tokens.isOne(token)
  }

  /**
   * Whom a token identifies. Reads memory only.
   * @throws SternaError `invalid_session`
   */
  holderOf(token: string): Holder {
    const issued = this.#tokens.read(token)
    if (!issued || this.#services.clock.now() >= issued.expiresAt) throw tokenOver()
    const found = this.#inForce(this.held(issued.sessionId))
    if (!found || !this.#mayActIn(issued, found.user)) throw tokenOver()
    const { user } = found
    const accountId = issued.accountId ?? user.accountId
    // A start in sandbox mode may come between.
    const sandbox = issued.sandbox || this.#sandboxOnly
    return { user, accountId, rights: rightsOfUser(user), sandbox, confined: issued.confined }
  }

  /** A user's sessions that have not ended, oldest first; also those that other nodes have begun. */
  async list(userId: string): Promise<Session[]> {
    await this.#readThoseOf(userId)
    return this.inOrder((session) => session.userId === userId && this.#userOf(session) !== undefined)
  }

  /** Ends a session; once the promise resolves, neither its cookie nor its tokens work. */
  async end(sessionId: string): Promise<void> {
    const end = { sql: 'delete from user_session where id = :sessionId', params: { sessionId } }
    await this.#services.db.write([end, ...this.note(sessionId)])
    this.drop(sessionId)
    await this.changes.seenByAll()
  }

  /** Ends all sessions of a user. */
  async endAll(userId: string): Promise<void> {
    const end = { sql: 'delete from user_session where user_id = :userId', params: { userId } }
    await this.#services.db.write([end, ...this.changes.note(ofUser, userId)])
    for (const { id } of this.#those(userId)) this.drop(id)
    await this.changes.seenByAll()
  }

  /** Removes sessions that have expired or whose user is gone; call it regularly. */
  async sweep(): Promise<void> {
    const now = this.#services.clock.now()
    const over = this.inOrder((session) => this.#userOf(session) === undefined)
    if (over.length === 0) return
    // Another process may have seen it since.
    const sql = `delete from user_session where id = :id and (last_seen_at <= :idleSince or created_at <= :begunBefore
                   or not exists (select 1 from account_user where id = user_session.user_id))`
    await this.#services.db.write(over.map(({ id }) => ({ sql, params: { id, idleSince: now - idleMs, begunBefore: now - maxMs } })))
    for (const { id } of over) await this.reload(id)
  }

  #those(userId: string): StoredSession[] {
    return this.inOrder((session) => session.userId === userId)
  }

  /** Reads a user's sessions anew. */
  async #readThoseOf(userId: string): Promise<void> {
    const rows = await this.#services.db.read<{ id: string }>('select id from user_session where user_id = :userId', { userId })
    const ids = new Set([...rows, ...this.#those(userId)].map(({ id }) => id))
    await Promise.all(Array.from(ids, (id) => this.reload(id)))
  }

  /** Reads a session anew, and its user if another node has added them. */
  async #readAnew(id: string): Promise<{ session: Session; user: User } | null> {
    const session = await this.reload(id)
    if (session && !this.#services.users.find(session.userId)) await this.#services.users.reload(session.userId)
    return this.#inForce(session)
  }

  #inForce(session: StoredSession | undefined): { session: Session; user: User } | null {
    const user = session && this.#userOf(session)
    return session && user ? { session, user } : null
  }

  protected override follow(before: StoredSession | undefined, after: StoredSession | undefined): void {
    if (after) this.#byDigest.set(after.digest, after)
    else if (before) this.#byDigest.delete(before.digest)
  }

  /** Undefined if the session has expired or its user is gone. */
  #userOf({ userId, createdAt, lastSeenAt }: Session): User | undefined {
    const now = this.#services.clock.now()
    if (now >= lastSeenAt + idleMs || now >= createdAt + maxMs) return undefined
    return this.#services.users.find(userId)
  }

  /** False once an operator who acts in another account is none any more, or that account is removed. */
  #mayActIn({ accountId }: IssuedToken, user: User): boolean {
    if (accountId === null || accountId === user.accountId) return true
    return user.operator && this.#services.accounts.accountFor(accountId) !== undefined
  }

  #writeOrOver(batch: Statement[]): Promise<Written[]> {
    return refusedAs(this.#services.db.write(batch), ConflictError, sessionOver)
  }
}

/** Ends those of a user's sessions beyond the limit that have rested longest; never the newest, also if the clock was set back. */
const endSurplus = ({ id, userId }: Session): Statement => ({
  sql: `delete from user_session where user_id = :userId and id <> :id and id not in (
          select id from user_session where user_id = :userId and id <> :id order by last_seen_at desc, id desc limit :others)
        returning id`,
  params: { id, userId, others: maxSessions - 1 },
})

const tokenOver = (): SternaError =>
  new SternaError('invalid_session', 'This token has expired, or its session has ended. Get a new one with POST /session/token.')

const sessionOver = (): SternaError => new SternaError('invalid_session', 'This session has ended. Log in again.')
