import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import { clientNetwork } from '../ip-address.ts'
import { minuteMs, RateLimiter } from '../rate-limiter.ts'
import type { PasswordHasher } from './password-hash.ts'
import type { SecondFactors } from './second-factor.ts'
import { userEmail } from './user-email.ts'
import type { StoredUser } from './user.ts'
import type { Users } from './users.ts'

interface LoginServices {
  clock: Clock
  users: Users
  passwords: PasswordHasher
  secondFactors: SecondFactors
}

interface Credentials {
  email: string
  password: string
  /** The code of the second factor. */
  code?: string | undefined
}

const allowedAttempts = { limit: 20, windowMs: 15 * minuteMs }

/** Decides who may log in: the only place where passwords are compared. */
export class Login {
  readonly #services: LoginServices
  /**
   * Attempts by client network and by user. Each attempt is counted before its password is compared, so parallel attempts gain nothing
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
   * @param address of the client
   * @throws SternaError `invalid_credentials`, `second_factor_required` if everything else is right, `rate_limit_exceeded`,
   * `service_unavailable`
   */
  async verify(credentials: Credentials, address: string): Promise<StoredUser> {
    const { users, passwords, secondFactors } = this.#services
    const keys = [`address ${clientNetwork(address)}`, `user ${userEmail(credentials.email)}`]
    this.#take(keys)
    const user = users.findByEmail(credentials.email)
    const { isRight, isOutdated } = await this.#unlessBusy(keys, () => passwords.verify(credentials.password, user?.password ?? null))
    if (!user || !isRight) throw new SternaError('invalid_credentials', 'The email address or the password is wrong.')
    await this.#unlessCodeMissing(keys, () => secondFactors.check(user.id, credentials.code))
    this.#attempts.giveBack(...keys)
    const now = users.find(user.id) ?? user
    // The password may have changed during the comparison; beginning a session with `user` detects that.
    if (!isOutdated) return { ...now, password: user.password }
    const password = await passwords.hash(credentials.password)
    await users.renewHash(user.id, password, { shown: user.password })
    return { ...now, password }
  }

  /**
   * Asks somebody who is already logged in for the password, before something that cannot be undone. Returns the stored hash.
   * @throws SternaError `invalid_credentials`, `rate_limit_exceeded`, `service_unavailable`
   */
  async confirm(userId: string, password: string, address: string): Promise<string | null> {
    const { users, passwords } = this.#services
    const user = users.get(userId)
    const keys = [`address ${clientNetwork(address)}`, `user ${user.email}`]
    this.#take(keys)
    const { isRight } = await this.#unlessBusy(keys, () => passwords.verify(password, user.password))
    if (!isRight) throw new SternaError('invalid_credentials', 'The password is wrong.')
    this.#attempts.giveBack(...keys)
    return user.password
  }

  #take(keys: string[]): void {
    const wait = this.#attempts.take(...keys)
    if (wait === 0) return
    const message = 'Too many login attempts. Wait before trying again.'
    throw new SternaError('rate_limit_exceeded', message, { retryAfter: Math.ceil(wait / 1000) })
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
