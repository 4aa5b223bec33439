import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import { derivedFrom, readByAny } from '../../platform/key-generations.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import type { Secrets } from './key-file.ts'
import type { StoredUser } from './user.ts'
import type { Users } from './users.ts'

interface PasswordResetsServices {
  clock: Clock
  secrets: Pick<Secrets, 'generations'>
  users: Users
}

/** How long a link works. */
export const resetLinkMs = 30 * minuteMs

/**
 * Tokens with which users who forgot their password set another one. A token says whom it is for and until when, and its MAC also covers the
 * stored hash of the password: once there is another password, whoever set it, the token is over. So nothing needs to be stored, and what is
 * stored lets nobody in.
 */
export class PasswordResets {
  readonly #services: PasswordResetsServices
  readonly #keys: () => readonly [Buffer, ...Buffer[]]

  constructor(services: PasswordResetsServices) {
    this.#services = services
    this.#keys = derivedFrom(services.secrets, (deriveKey) => deriveKey('password reset'))
  }

  tokenFor(user: StoredUser): string {
    const expiresAt = this.#services.clock.now() + resetLinkMs
    return [user.id, expiresAt.toString(36), macOf(this.#keys()[0], user, expiresAt)].join('.')
  }

  /**
   * Whom the token is for.
   * @throws SternaError `not_found` if it was used, has expired, or is not ours
   */
  userOf(token: string): StoredUser {
    const [, id = '', time = '', mac = ''] = /^(\w+)\.(\w+)\.([\w-]+)$/.exec(token) ?? []
    const expiresAt = Number.parseInt(time, 36)
    const user = this.#services.users.find(id)
    if (!user || user.password === null || !(expiresAt > this.#services.clock.now())) throw resetOver()
    if (!readByAny(this.#keys(), (key) => isSame(mac, macOf(key, user, expiresAt)) || null)) throw resetOver()
    return user
  }

  /**
   * Sets another password. The second factor stays as it is. If two people try at once, only one succeeds.
   * @throws SternaError `not_found`, `validation_error`, `service_unavailable`
   */
  async use(token: string, password: string): Promise<StoredUser> {
    const { users } = this.#services
    const user = this.userOf(token)
    const hash = await users.hashFor(user, password)
    try {
      return await users.setPassword(user.id, hash, { shown: user.password })
    } catch (error) {
      throw error instanceof SternaError && error.code === 'invalid_credentials' ? resetOver() : error
    }
  }
}

const macOf = (key: Buffer, { id, password }: StoredUser, expiresAt: number): string =>
  createHmac('sha256', key).update([id, expiresAt, password].join('\n')).digest('base64url')

const isSame = (one: string, other: string): boolean => one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

const resetOver = (): SternaError =>
  new SternaError('not_found', 'This link was used, or has expired, or the password was changed after it was sent. Ask for a new one.')
