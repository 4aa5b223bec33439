import type { AuditLog } from '../../senders/account/audit-log.ts'
import { knownDeviceMs, type KnownDevices } from '../../senders/account/known-devices.ts'
import type { Session, Sessions } from '../../senders/account/sessions.ts'
import type { StoredUser, User } from '../../senders/account/user.ts'
import { SternaError } from '../../platform/errors.ts'
import type { LoginChange } from '../../notify/password-reset/compose-change-mail.ts'
import type { LoginChanges } from '../../notify/password-reset/login-changes.ts'
import type { Call } from '../operation/call.ts'
import { originOf } from '../operation/caller.ts'
import { isOwnRequest } from './same-origin.ts'

interface SessionEntryServices {
  baseUrl: string
  sessions: Sessions
  devices: Pick<KnownDevices, 'tokenFor'>
  audit: Pick<AuditLog, 'record'>
  loginChanges: Pick<LoginChanges, 'tell'>
}

/** The header fields that tell what a browser is and has. */
export const browserHeaders = ['cookie', 'host', 'origin', 'sec-fetch-site', 'user-agent'] as const

/** A call that a browser makes. */
export type BrowserCall = Pick<Call<never, unknown, unknown, (typeof browserHeaders)[number]>, 'caller' | 'headers' | 'reply'>

/** How a browser logs in and out of a session: by its cookie, and only from pages of this server. */
export class SessionEntry {
  readonly #services: SessionEntryServices
  readonly #cookie: SessionCookie
  /** Ties a challenge for a passkey to the browser that asked for it, before there is a session. */
  readonly passkeyCookie: SessionCookie
  readonly #deviceCookie: SessionCookie

  constructor(services: SessionEntryServices) {
    this.#services = services
    this.#cookie = sessionCookie(services.baseUrl)
    this.#deviceCookie = sessionCookie(services.baseUrl, 'sterna_device', knownDeviceMs)
    this.passkeyCookie = sessionCookie(services.baseUrl, 'sterna_passkey')
  }

  /**
   * Refuses requests that a page of another site makes through the browser.
   * @throws SternaError `foreign_origin`
   */
  checkOrigin({ headers: { origin, 'sec-fetch-site': site, host } }: BrowserCall): void {
    if (isOwnRequest({ origin, site, host }, this.#services.baseUrl)) return
    throw new SternaError('foreign_origin', 'This request came from a page of another website.')
  }

  /** Begins a session and sets its cookie. A session that the browser already had ends, because others may know its secret. */
  async begin(call: BrowserCall, user: StoredUser): Promise<Session> {
    const brought = await this.#found(call)
    if (brought) await this.#services.sessions.end(brought.session.id)
    const { session, secret } = await this.#services.sessions.begin(user, clientOf(call))
    call.reply.set('Set-Cookie', this.#cookie.give(secret))
    this.knowDevice(call, user)
    return session
  }

  /** Lets the browser show from now on that its user has shown who they are. */
  knowDevice({ reply }: BrowserCall, user: StoredUser): void {
    reply.append('Set-Cookie', this.#deviceCookie.give(this.#services.devices.tokenFor(user)))
  }

  /** What the browser shows of it. */
  deviceOf({ headers }: BrowserCall): string | null {
    return this.#deviceCookie.read(headers.cookie)
  }

  /**
   * The session of the request's cookie.
   * @throws SternaError `invalid_session`
   */
  async current(call: BrowserCall): Promise<{ session: Session; user: User }> {
    call.reply.set('Cache-Control', 'no-store')
    const found = await this.#found(call)
    if (found) return found
    throw new SternaError('invalid_session', 'You are not logged in, or your session has ended. Log in with POST /session.')
  }

  /**
   * The same for a request that changes something.
   * @throws SternaError `foreign_origin`, `invalid_session`
   */
  async changing(call: BrowserCall): Promise<{ session: Session; user: User }> {
    this.checkOrigin(call)
    return this.current(call)
  }

  /** Ends the session of the request's cookie, and removes the cookie. */
  async end({ reply }: BrowserCall, session: Session): Promise<void> {
    await this.#services.sessions.end(session.id)
    reply.set('Set-Cookie', this.#cookie.takeBack())
  }

  /** Has the user told by mail of a change to how they log in. */
  tellChange(call: BrowserCall, user: User, change: LoginChange): void {
    this.#services.loginChanges.tell(user, change, clientOf(call))
  }

  /** Records what users did with their own login; `accountId` if it is about another account than theirs. */
  async record(
    { caller: { address, requestId } }: BrowserCall,
    user: User,
    change: { operation: string; objectId: string; fields?: string[]; accountId?: string },
  ): Promise<void> {
    const actor = { type: 'user', id: user.id, name: user.email } as const
    await this.#services.audit.record({ accountId: user.accountId, actor, fields: [], ...change, address, requestId })
  }

  async #found({ headers }: BrowserCall): Promise<{ session: Session; user: User } | null> {
    const secret = this.#cookie.read(headers.cookie)
    return secret === null ? null : this.#services.sessions.find(secret)
  }
}

const clientOf = ({ caller, headers }: BrowserCall) => ({ address: originOf(caller).address, userAgent: headers['user-agent'] ?? '' })

/** The cookie of a session. It is sent only to /session, or at least accepted only there. */
interface SessionCookie {
  /** The Set-Cookie field that sets it. */
  give(secret: string): string
  /** The Set-Cookie field that removes it. */
  takeBack(): string
  /** Its value in the Cookie field of a request; null if it is not there. */
  read(field: string | undefined): string | null
}

/**
 * With https its name starts with `__Host-`: browsers then accept it only from this host and only over TLS, but only with `Path=/` (RFC
 * 6265bis 4.1.3.2). With an http `base_url`, as in a first login on a LAN, none of that is possible. Without `maxAgeMs` it has
 * no Max-Age: the server ends sessions itself, and a browser may forget the cookie earlier.
 */
export function sessionCookie(baseUrl: string, plainName = 'sterna_session', maxAgeMs?: number): SessionCookie {
  const { protocol, pathname } = new URL(baseUrl)
  const isSecure = protocol === 'https:'
  const name = isSecure ? `__Host-${plainName}` : plainName
  const path = isSecure ? '/' : `${pathname.replace(/\/$/, '')}/session`
  const attributes = `Path=${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  const lasting = maxAgeMs === undefined ? '' : `; Max-Age=${Math.floor(maxAgeMs / 1000)}`
  return {
    give: (secret) => `${name}=${secret}; ${attributes}${lasting}`,
    takeBack: () => `${name}=; ${attributes}; Max-Age=0`,
    read(field = '') {
      const entry = field.split(';').find((part) => part.trim().startsWith(`${name}=`))
      return entry?.trim().slice(name.length + 1) ?? null
    },
  }
}
