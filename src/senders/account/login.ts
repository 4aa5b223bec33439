import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import { clientNetwork, truncatedAddress } from '../../platform/ip-address.ts'
import { minuteMs, RateLimiter } from '../../platform/rate-limiter.ts'
import { knownParty, type HashParty } from './hash-turns.ts'
import type { KnownDevices } from './known-devices.ts'
import type { PasswordHasher } from './password-hash.ts'
import type { SecondFactors } from './second-factor.ts'
import type { Session } from './sessions.ts'
import { userEmail } from './user-email.ts'
import type { StoredUser } from './user.ts'
import type { Users } from './users.ts'

interface LoginServices {
  clock: Clock
  users: Users
  passwords: PasswordHasher
  secondFactors: SecondFactors
  devices: KnownDevices
}

interface Credentials {
  email: string
  password: string
  /** The code of the second factor. */
  code?: string | undefined
  /** Of which account the user is, if several have one with this address and password; otherwise the last to have logged in. */
  accountId?: string | undefined
}

/** Where credentials come from. */
interface LoginClient {
  address: string
  /** The token of `KnownDevices`, if the browser brought one. */
  device: string | null
}

/** @throws SternaError `rate_limit_exceeded` if there is anything to wait for, ms */
export function demandNoWait(waitMs: number): void {
  if (waitMs === 0) return
  const message = 'Too many login attempts. Wait before trying again.'
  throw new SternaError('rate_limit_exceeded', message, { retryAfter: Math.ceil(waitMs / 1000) })
}

const allowedAttempts = { limit: 20, windowMs: 15 * minuteMs }

/** Decides who may log in: the only place where passwords are compared. */
export class Login {
  readonly #services: LoginServices
  /**
   * Attempts by client network and by user. Those in a session count by the session, and those on a device that knows the user also by the
   * device, which alone can shut it out: strangers who guess cannot. Each attempt is counted before its password is compared, so parallel attempts gain nothing
   * over sequential ones; a successful one is uncounted.
   */
  readonly #attempts: RateLimiter

  constructor(services: LoginServices) {
    this.#services = services
    this.#attempts = new RateLimiter(services.clock, allowedAttempts)
  }

  /**
   * The user with this email address, password and code. Neither the response nor its timing tells an unknown user from a wrong
   * password.
   * @throws SternaError `invalid_credentials`, `second_factor_required` if everything else is right, `rate_limit_exceeded`,
   * `service_unavailable`
   */
  async verify(credentials: Credentials, client: LoginClient): Promise<StoredUser> {
    const { users, passwords, secondFactors } = this.#services
    const { candidates, keys, party } = this.#begin(credentials.email, client)
    const stored = candidates.flatMap(({ password }) => password ?? [])
    const right = await this.#unlessBusy(keys, () => passwords.matching(credentials.password, stored, party))
    const user = candidates.find(
      ({ accountId, password }) => password !== null && right.includes(password) && accountId === (credentials.accountId ?? accountId),
    )
    if (!user) throw new SternaError('invalid_credentials', 'The email address or the password is wrong.')
    await this.#unlessCodeMissing(keys, () => secondFactors.check(user.id, credentials.code))
    this.#attempts.giveBack(...keys)
    const now = users.find(user.id) ?? user
    // The password may have changed during the comparison; beginning a session with `user` detects that.
    if (user.password === null || !passwords.isOutdated(user.password)) return { ...now, password: user.password }
    const password = await users.hashFor(user, credentials.password)
    await users.renewHash(user.id, password, { shown: user.password })
    return { ...now, password }
  }

  /**
   * Asks somebody who is already logged in for the password, before something that cannot be undone. Returns the stored hash.
   * @throws SternaError `invalid_credentials`, `rate_limit_exceeded`, `service_unavailable`
   */
  async confirm({ id, userId }: Pick<Session, 'id' | 'userId'>, password: string): Promise<string | null> {
    const { users, passwords } = this.#services
    const user = users.get(userId)
    const keys = [`session ${id}`]
    this.#take(keys)
    const isRight = await this.#unlessBusy(keys, () => passwords.verify(password, user.password, knownParty(user.id)))
    if (!isRight) throw new SternaError('invalid_credentials', 'The password is wrong.')
    this.#attempts.giveBack(...keys)
    return user.password
  }

  /**
   * Counts an attempt. Whom it may let in, what it counts against, and whose turn its hash is.
   * @throws SternaError `rate_limit_exceeded`
   */
  #begin(email: string, { address, device }: LoginClient): { candidates: StoredUser[]; keys: string[]; party: HashParty } {
    const candidates = this.#services.users.withEmail(email)
    const asStranger = [`address ${clientNetwork(address)}`, `user ${userEmail(email)}`]
    for (const user of candidates) {
      const known = this.#services.devices.find(device, user)
      if (!known) continue
      const asKnown = [`device ${known}`]
      this.#take(asKnown)
      // The device vouches for its own user. For those of other accounts with this address it counts like any other.
      const isOpen = this.#attempts.take(...asStranger) === 0
      const party = knownParty(user.id)
      return isOpen ? { candidates, keys: [...asKnown, ...asStranger], party } : { candidates: [user], keys: asKnown, party }
    }
    this.#take(asStranger)
    return { candidates, keys: asStranger, party: { name: truncatedAddress(address) ?? address, isKnown: false } }
  }

  #take(keys: string[]): void {
    demandNoWait(this.#attempts.take(...keys))
  }

  /** An attempt that was never tried does not count. */
  #unlessBusy<T>(keys: string[], verify: () => Promise<T>): Promise<T> {
    return this.#givingBack(keys, 'service_unavailable', verify)
  }

  /** Somebody who gave the right password and is asked for a code has not guessed anything. */
  #unlessCodeMissing<T>(keys: string[], check: () => Promise<T>): Promise<T> {
    return this.#givingBack(keys, 'second_factor_required', check)
  }

  async #givingBack<T>(keys: string[], code: SternaError['code'], work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof SternaError && error.code === code) this.#attempts.giveBack(...keys)
      throw error
    }
  }
}
