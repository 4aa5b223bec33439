import { argon2, randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import { SternaError } from '../errors.ts'

/** How passwords are hashed: argon2id (RFC 9106), or scrypt (RFC 7914) if Node has no argon2. */
export type PasswordAlgorithm = 'argon2id' | 'scrypt'

type Parameters = Readonly<Record<string, number>>

const algorithms: Record<PasswordAlgorithm, { now: Parameters; hash(password: string, salt: Buffer, by: Parameters): Promise<Buffer> }> = {
  // OWASP's advice: 19 MiB, two passes.
  argon2id: {
    now: { m: 19_456, t: 2, p: 1 },
    hash: (password, salt, { m = 0, t = 0, p = 0 }) =>
      promisify(argon2)('argon2id', { message: password, nonce: salt, memory: m, passes: t, parallelism: p, tagLength: 32 }),
  },
  scrypt: {
    now: { ln: 15, r: 8, p: 1 },
    hash: (password, salt, { ln = 0, r = 0, p = 0 }) => {
      const options = { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r }
      return promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)(password, salt, 32, options)
    },
  },
}

const textOf = (parameters: Parameters): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')

const parametersIn = (text: string): Parameters =>
  Object.fromEntries(text.split(',').map((entry) => [entry.split('=')[0] ?? '', Number(entry.split('=')[1])]))

const saltBytes = 16
/** Concurrent hashes: each takes 19 or 32 MiB and one of the four threads that files, DNS and keys need too. */
const mostAtOnce = 2
/** Further ones wait. A longer queue would only make everybody wait in vain. */
const mostWaiting = 32

export const leastPasswordLength = 10
/** Characters; hashing longer ones costs time and gains nothing. */
export const mostPasswordLength = 200

/** Hashes passwords, few at a time, so that a flood of logins exhausts neither memory nor the thread pool. */
export class PasswordHasher {
  readonly #algorithm: PasswordAlgorithm
  #running = 0
  readonly #waiting: (() => void)[] = []
  #decoy: Promise<string> | undefined

  constructor(algorithm: PasswordAlgorithm = typeof argon2 === 'function' ? 'argon2id' : 'scrypt') {
    this.#algorithm = algorithm
  }

  /**
   * What to store for a password: algorithm, parameters, salt and hash.
   * @throws SternaError `validation_error`, `service_unavailable` if too many are waiting
   */
  async hash(password: string): Promise<string> {
    checkPassword(password)
    return this.#hash(normal(password))
  }

  /**
   * Whether the password matches the stored one. Without a stored one it never does, which takes just as long to find out.
   * `isOutdated`: it was hashed with other parameters, so hash it again.
   * @throws SternaError `service_unavailable` if too many are waiting
   */
  async verify(password: string, stored: string | null): Promise<{ isRight: boolean; isOutdated: boolean }> {
    const [algorithm, parameters = '', salt = '', hash = ''] = (stored ?? (await this.#decoyHash())).slice(1).split('$')
    if (algorithm !== 'argon2id' && algorithm !== 'scrypt') throw new Error(`unknown password algorithm ${algorithm}`)
    const found = await this.#inTurn(() =>
      algorithms[algorithm].hash(normal(password), Buffer.from(salt, 'base64'), parametersIn(parameters)),
    )
    const isRight = timingSafeEqual(found, Buffer.from(hash, 'base64')) && stored !== null
    return { isRight, isOutdated: algorithm !== this.#algorithm || parameters !== textOf(algorithms[algorithm].now) }
  }

  #decoyHash(): Promise<string> {
    this.#decoy ??= this.#hash(randomBytes(16).toString('hex')).catch((error: unknown) => {
      this.#decoy = undefined
      throw error
    })
    return this.#decoy
  }

  async #hash(password: string): Promise<string> {
    const { hash, now } = algorithms[this.#algorithm]
    const salt = randomBytes(saltBytes)
    const digest = await this.#inTurn(() => hash(password, salt, now))
    return `$${this.#algorithm}$${textOf(now)}$${salt.toString('base64')}$${digest.toString('base64')}`
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= mostAtOnce) {
      if (this.#waiting.length >= mostWaiting) {
        throw new SternaError('service_unavailable', 'Too many people are logging in right now. Try again.', { retryAfter: 2 })
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      // The next one in the queue takes over the slot.
      if (next) next()
      else this.#running -= 1
    }
  }
}

/** Keyboards compose accented letters differently. */
const normal = (password: string): string => password.normalize('NFKC')

function checkPassword(password: string): void {
  const { length } = [...password]
  if (length >= leastPasswordLength && length <= mostPasswordLength) return
  const message = `A password must have ${leastPasswordLength} to ${mostPasswordLength} characters.`
  throw new SternaError('validation_error', message, { faults: [{ field: 'password', code: 'invalid_password', message, help: null }] })
}
