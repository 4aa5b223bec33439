import { argon2, randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import { SternaError } from '../../platform/errors.ts'
import { HashTurns, type HashParty } from './hash-turns.ts'

/** How passwords are hashed: argon2id (RFC 9106), or scrypt (RFC 7914) if Node has no argon2. */
export type PasswordAlgorithm = 'argon2id' | 'scrypt'

/** The cost of a hash, by the names that its algorithm has for it. */
type HashCost = Readonly<Record<string, number>>

const algorithms: Record<PasswordAlgorithm, { now: HashCost; hash(password: string, salt: Buffer, cost: HashCost): Promise<Buffer> }> = {
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

const textOf = (parameters: HashCost): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')

const parametersIn = (text: string): HashCost =>
  Object.fromEntries(text.split(',').map((entry) => [entry.split('=')[0] ?? '', Number(entry.split('=')[1])]))

/**
 * A stored hash in its parts.
 * @throws Error if no version of ours has stored it
 */
function partsOf(stored: string): { algorithm: PasswordAlgorithm; parameters: string; salt: Buffer; hash: Buffer } {
  const [algorithm, parameters = '', salt = '', hash = ''] = stored.slice(1).split('$')
  if (algorithm !== 'argon2id' && algorithm !== 'scrypt') throw new Error(`unknown password algorithm ${algorithm}`)
  return { algorithm, parameters, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') }
}

const saltBytes = 16
/** Who hashes if nobody asked for it. */
const server: HashParty = { name: 'server', isKnown: true }

export const minPasswordLength = 10
/** Characters; hashing longer ones costs time and gains nothing. */
export const maxPasswordLength = 200

/** Hashes passwords, few at a time, so that a flood of logins exhausts neither memory nor the thread pool. */
export class PasswordHasher {
  readonly #algorithm: PasswordAlgorithm
  readonly #cost: HashCost
  readonly #turns = new HashTurns()
  #decoy: Promise<string> | undefined

  constructor(
    algorithm: PasswordAlgorithm = typeof argon2 === 'function' ? 'argon2id' : 'scrypt',
    cost: HashCost = algorithms[algorithm].now,
  ) {
    this.#algorithm = algorithm
    this.#cost = cost
  }

  /**
   * What to store for a password: algorithm, parameters, salt and hash.
   * @param like another stored hash, whose salt is used: both are then compared with a password at once
   * @throws SternaError `validation_error`, `service_unavailable` if too many are waiting
   */
  async hash(password: string, by: HashParty = server, like: string | null = null): Promise<string> {
    checkPassword(password)
    return this.#hash(normal(password), by, like === null ? randomBytes(saltBytes) : partsOf(like).salt)
  }

  /**
   * Whether the password matches the stored one. Without a stored one it never does, which takes just as long to find out.
   * @throws SternaError `service_unavailable` if too many are waiting
   */
  async verify(password: string, stored: string | null, by: HashParty = server): Promise<boolean> {
    return (await this.matching(password, stored === null ? [] : [stored], by)).length > 0
  }

  /**
   * Those of the stored hashes that the password matches. However many there are, or if there is none, it takes as long as one, unless their
   * salts or parameters differ.
   * @throws SternaError `service_unavailable` if too many are waiting
   */
  async matching(password: string, stored: string[], by: HashParty = server): Promise<string[]> {
    const inputs = Map.groupBy(stored.length > 0 ? stored : [await this.#decoyHash(by)], (each) => each.slice(0, each.lastIndexOf('$')))
    const matching: string[] = []
    for (const alike of inputs.values()) {
      const { algorithm, parameters, salt } = partsOf(alike[0] ?? '')
      const found = await this.#inTurn(by, () => algorithms[algorithm].hash(normal(password), salt, parametersIn(parameters)))
      matching.push(...alike.filter((each) => timingSafeEqual(found, partsOf(each).hash)))
    }
    return stored.length > 0 ? matching : []
  }

  /** Whether it was hashed with other parameters than today's, so it should be hashed again. */
  isOutdated(stored: string): boolean {
    const { algorithm, parameters } = partsOf(stored)
    return algorithm !== this.#algorithm || parameters !== textOf(this.#cost)
  }

  #decoyHash(by: HashParty): Promise<string> {
    this.#decoy ??= this.#hash(randomBytes(16).toString('hex'), by, randomBytes(saltBytes)).catch((error: unknown) => {
      this.#decoy = undefined
      throw error
    })
    return this.#decoy
  }

  async #hash(password: string, by: HashParty, salt: Buffer): Promise<string> {
    const { hash } = algorithms[this.#algorithm]
    const digest = await this.#inTurn(by, () => hash(password, salt, this.#cost))
    return `$${this.#algorithm}$${textOf(this.#cost)}$${salt.toString('base64')}$${digest.toString('base64')}`
  }

  async #inTurn<T>(by: HashParty, work: () => Promise<T>): Promise<T> {
    const turn = await this.#turns.take(by, work)
    if (turn) return turn.done
    throw new SternaError('service_unavailable', 'Too many people are logging in right now. Try again.', { retryAfter: 2 })
  }
}

/** Keyboards compose accented letters differently. */
const normal = (password: string): string => password.normalize('NFKC')

function checkPassword(password: string): void {
  const { length } = [...password]
  if (length >= minPasswordLength && length <= maxPasswordLength) return
  const message = `A password must have ${minPasswordLength} to ${maxPasswordLength} characters.`
  throw new SternaError('validation_error', message, { faults: [{ field: 'password', code: 'invalid_password', message, help: null }] })
}
