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
  /** Of the second factor. */
  code?: string | undefined
}

const allowedAttempts = { limit: 20, windowMs: 15 * minuteMs }

/** Who may come in: the one place where passwords are compared. */
export class Login {
  readonly #services: LoginServices
  /**
   * Attempts by client network and by user. Each is counted before its password is compared, so that many at once get no further
   * than many in a row; one that succeeds is taken back.
   */
  readonly #attempts: RateLimiter

  constructor(services: LoginServices) {
    this.#services = services
    this.#attempts = new RateLimiter(services.clock, allowedAttempts)
  }

  /**
   * The user with this email address, password and code. Nothing tells apart a user who does not exist from a password
   * that is wrong, neither the answer nor the time it takes.
   * @param address of the client
   * @throws SternaError `invalid_credentials`, `second_factor_required` where all else is right, `rate_limit_exceeded`,
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
    // It may have been changed while it was compared, and whoever begins a session with `user` finds out.
    if (!isOutdated) return { ...now, password: user.password }
    const password = await passwords.hash(credentials.password)
    await users.setPasswordHash(user.id, password, { shown: user.password })
    return { ...now, password }
  }

  /**
   * Demands the password of somebody who is logged in already, before something that cannot be taken back. Gives what is
   * stored of it.
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
    const message = 'There were too many attempts to log in. Wait before the next one.'
    throw new SternaError('rate_limit_exceeded', message, { retryAfter: Math.ceil(wait / 1000) })
  }

  /** What never got its turn was no attempt. */
  #unlessBusy<T>(keys: string[], verify: () => Promise<T>): Promise<T> {
    return this.#givingBack(keys, 'service_unavailable', verify)
  }

  /** Whoever has the right password and is asked for a code has guessed nothing. */
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
