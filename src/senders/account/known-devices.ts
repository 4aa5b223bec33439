import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import { derivedFrom, readByAny } from '../../platform/key-generations.ts'
import type { Secrets } from './key-file.ts'
import type { StoredUser } from './user.ts'

/** How long a device is known after a login. */
export const knownDeviceMs = 90 * 24 * 3_600_000

/**
 * Tokens for browsers in which a user has logged in. They let nobody in: they tell the user, who knows the password, from strangers who guess
 * it, so that the guesses do not shut the user out. A token names nobody, is over with the password of its time, and nothing is stored.
 */
export class KnownDevices {
  readonly #clock: Clock
  readonly #keys: () => readonly [Buffer, ...Buffer[]]

  constructor({ clock, secrets }: { clock: Clock; secrets: Pick<Secrets, 'generations'> }) {
    this.#clock = clock
    this.#keys = derivedFrom(secrets, (deriveKey) => deriveKey('known device'))
  }

  tokenFor(user: StoredUser): string {
    const head = `${randomBytes(12).toString('base64url')}.${(this.#clock.now() + knownDeviceMs).toString(36)}`
    return `${head}.${macOf(this.#keys()[0], user, head)}`
  }

  /** The name of the device, if this is the token of one that the user logged in with; null if not. */
  find(token: string | null, user: StoredUser): string | null {
    const [, head = '', name = '', time = '', mac = ''] = /^(([\w-]{16})\.(\w{1,11}))\.([\w-]{43})$/.exec(token ?? '') ?? []
    if (!(Number.parseInt(time, 36) > this.#clock.now())) return null
    return readByAny(this.#keys(), (key) => (timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, user, head))) ? name : null))
  }
}

const macOf = (key: Buffer, { id, password }: StoredUser, head: string): string =>
  createHmac('sha256', key).update([id, head, password].join('\n')).digest('base64url')
