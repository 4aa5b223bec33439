import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { clientNetwork, truncatedAddress } from '../../platform/ip-address.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import { CountedUses, type Use } from '../../platform/store/counted-uses.ts'
import { knownParty, type HashParty } from './hash-turns.ts'
import type { KnownDevices } from './known-devices.ts'
import type { PasswordHasher } from './password-hash.ts'
import type { SecondFactors } from './second-factor.ts'
import type { Session } from './sessions.ts'
import { userEmail } from './user-email.ts'
import type { StoredUser } from './user.ts'
import type { Users } from './users.ts'

interface LoginServices extends Pick<BaseServices, 'db' | 'clock'> {
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

/** @throws SternaError `rate_limit_exceeded` if there is anything to wait for */
export function demandNoWait({ waitMs }: Use): void {
  if (waitMs === 0) return
  const message = 'Too many login attempts. Wait before trying again.'
  throw new SternaError('rate_limit_exceeded', message, { retryAfter: Math.ceil(waitMs / 1000) })
}

const allowedAttempts = { name: 'login', limit: 20, windowMs: 15 * minuteMs }

/** Decides who may log in: the only place where passwords are compared. */
export class Login {
  readonly #services: LoginServices
  /**
   * Attempts by client network and by user. Those in a session count by the session, and those on a device that knows the user also by the
   * device, which alone can shut it out: strangers who guess cannot. Each attempt is counted before its password is compared, so parallel attempts gain nothing
   * over sequential ones; a successful one is uncounted.
   */
  readonly #attempts: CountedUses

  constructor(services: LoginServices) {
    this.#services = services
    this.#attempts = new CountedUses(services, allowedAttempts)
  }

  /**
   * The user with this email address, password and code. Neither the response nor its timing tells an unknown user from a wrong
   * password.
   * @throws SternaError `invalid_credentials`, `second_factor_required` if everything else is right, `rate_limit_exceeded`,
   * `service_unavailable`
   */
  async verify(credentials: Credentials, client: LoginClient): Promise<StoredUser> {
    const { users, passwords, secondFactors } = this.#services
    const { candidates, attempts, party } = await this.#begin(credentials.email, client)
    const stored = candidates.flatMap(({ password }) => password ?? [])
    const right = await this.#unlessBusy(attempts, () => passwords.matching(credentials.password, stored, party))
    const user = candidates.find(
      ({ accountId, password }) => password !== null && right.includes(password) && accountId === (credentials.accountId ?? accountId),
    )
    if (!user) throw new SternaError('invalid_credentials', 'The email address or the password is wrong.')
    await this.#unlessCodeMissing(attempts, () => secondFactors.check(user.id, credentials.code))
    await giveBack(attempts)
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
    const attempts = [await this.#take(`session ${id}`)]
    const isRight = await this.#unlessBusy(attempts, () => passwords.verify(password, user.password, knownParty(user.id)))
    if (!isRight) throw new SternaError('invalid_credentials', 'The password is wrong.')
    await giveBack(attempts)
    return user.password
  }

  /**
   * Counts an attempt. Whom it may let in, what it counts against, and whose turn its hash is.
   * @throws SternaError `rate_limit_exceeded`
   */
  async #begin(email: string, { address, device }: LoginClient): Promise<{ candidates: StoredUser[]; attempts: Use[]; party: HashParty }> {
    const candidates = this.#services.users.withEmail(email)
    const asStranger = [`address ${clientNetwork(address)}`, `user ${userEmail(email)}`] as const
    for (const user of candidates) {
      const known = this.#services.devices.find(device, user)
      if (!known) continue
      const asKnown = await this.#take(`device ${known}`)
      // The device vouches for its own user. For those of other accounts with this address it counts like any other.
      const counted = await this.#attempts.take(...asStranger)
      const party = knownParty(user.id)
      const isOpen = counted.waitMs === 0
      return isOpen ? { candidates, attempts: [asKnown, counted], party } : { candidates: [user], attempts: [asKnown], party }
    }
    return {
      candidates,
      attempts: [await this.#take(...asStranger)],
      party: { name: truncatedAddress(address) ?? address, isKnown: false },
    }
  }

  async #take(...keys: Parameters<CountedUses['take']>): Promise<Use> {
    const attempt = await this.#attempts.take(...keys)
    demandNoWait(attempt)
    return attempt
  }

  /** An attempt that was never tried does not count. */
  #unlessBusy<T>(attempts: Use[], verify: () => Promise<T>): Promise<T> {
    return this.#givingBack(attempts, 'service_unavailable', verify)
  }

  /** Somebody who gave the right password and is asked for a code has not guessed anything. */
  #unlessCodeMissing<T>(attempts: Use[], check: () => Promise<T>): Promise<T> {
    return this.#givingBack(attempts, 'second_factor_required', check)
  }

  async #givingBack<T>(attempts: Use[], code: SternaError['code'], work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof SternaError && error.code === code) await giveBack(attempts)
      throw error
    }
  }
}

async function giveBack(attempts: Use[]): Promise<void> {
  await Promise.all(attempts.map((attempt) => attempt.giveBack()))
}
