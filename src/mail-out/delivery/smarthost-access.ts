import { usableToken, type KnownToken } from '../oauth/known-token.ts'
import type { TokenCredentials } from './sasl.ts'
import type { Smarthost } from './smarthost.ts'
import type { LoginGates } from './login-gates.ts'
import { logIn, type LoginFailure, type LoginServices } from './smarthost-login.ts'
import type { SmtpDialogue } from './smtp-dialogue.ts'

/** A token that may be presented, or why there is none, as the end of a sentence. */
type Found = { serial: number; accessToken: string } | { trouble: string }

/** How long mail waits for a token that is being fetched, ms: after that it is deferred. */
const patienceMs = 10_000
/** The same once the host has refused a token, ms: another node may be fetching. */
const renewalMs = 40_000

/** The access token for the smarthost, as this thread knows it. Only what waits for the smarthost waits here. */
export class SmarthostAccess {
  readonly #ask: (serial: number) => void
  #known: KnownToken | null = null
  #heard = Promise.withResolvers<void>()

  /** @param ask has a token other than that with this serial fetched; `learn` is called then, whether there is one or not */
  constructor(ask: (serial: number) => void) {
    this.#ask = ask
  }

  learn(known: KnownToken): void {
    this.#known = known
    this.#heard.resolve()
    this.#heard = Promise.withResolvers()
  }

  /** @param now epoch, ms, by the queue's clock */
  async find(now: number): Promise<Found> {
    const found = this.#usable(now)
    if (found) return found
    await this.#askAndWait(this.#known?.serial ?? 0, patienceMs)
    return this.#usable(now) ?? { trouble: 'there is no access token yet' }
  }

  /** Another one than that with this serial, which the host has refused; null if there is none. */
  async renewed(serial: number, now: number): Promise<Found | null> {
    if ((this.#known?.serial ?? 0) <= serial) await this.#askAndWait(serial, renewalMs)
    return (this.#known?.serial ?? 0) > serial ? this.#usable(now) : null
  }

  /** Null: neither a token nor why there is none is known. */
  #usable(now: number): Found | null {
    if (!this.#known) return null
    const { serial, trouble, isOff } = this.#known
    const accessToken = usableToken(this.#known, now)
    if (accessToken !== null) return { serial, accessToken }
    if (trouble === null) return null
    return { trouble: isOff ? `the route is off: ${trouble}` : `no access token could be fetched: ${trouble}` }
  }

  async #askAndWait(serial: number, forMs: number): Promise<void> {
    const { promise: longEnough, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, forMs)
    this.#ask(serial)
    await Promise.race([this.#heard.promise, longEnough])
    clearTimeout(timer)
  }
}

/** How we log in to smarthosts. */
export interface LoginParts {
  loginGates: LoginGates
  smarthostAccess: SmarthostAccess
}

interface LoggingIn {
  dialogue: SmtpDialogue
  services: LoginParts
  /** Epoch, ms, by the queue's clock. */
  now: number
}

/** Why it is known before a connection that no login succeeds; null if it is not. */
export async function whyNoLogin(smarthost: Smarthost, parts: LoginParts, now: number): Promise<string | null> {
  const { login } = smarthost
  if (!login) return null
  const { refusal } = parts.loginGates.of(smarthost)
  if (refusal !== null || 'password' in login) return refusal
  const found = await parts.smarthostAccess.find(now)
  return 'trouble' in found ? found.trouble : null
}

/** Logs in, if a login is set. Never rejects. */
export async function logInTo(smarthost: Smarthost, logging: LoggingIn, how: LoginServices): Promise<LoginFailure> {
  const { login } = smarthost
  if (!login) return null
  const { dialogue, services } = logging
  return services.loginGates
    .of(smarthost)
    .run(() => ('password' in login ? logIn(dialogue, login, how) : logInByToken({ user: login.user, ...smarthost }, logging, how)))
}

/** One that the host refuses is replaced once. */
async function logInByToken(
  { user, host, port }: Omit<TokenCredentials, 'accessToken'>,
  { dialogue, services: { smarthostAccess }, now }: LoggingIn,
  how: LoginServices,
): Promise<LoginFailure> {
  const found = await smarthostAccess.find(now)
  if ('trouble' in found) return { reason: found.trouble, isRefused: false }
  const failure = await logIn(dialogue, { user, host, port, accessToken: found.accessToken }, how)
  if (!failure?.isOfCredentials) return failure
  const next = await smarthostAccess.renewed(found.serial, now)
  if (next === null) return failure
  if ('trouble' in next) return { reason: next.trouble, isRefused: false }
  return logIn(dialogue, { user, host, port, accessToken: next.accessToken }, how)
}
