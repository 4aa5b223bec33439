import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** The credentials by a password. */
export interface Credentials {
  user: string
  password: string
}

/** The credentials by an access token of OAuth 2, and the host that it is presented to. */
export interface TokenCredentials {
  user: string
  accessToken: string
  host: string
  port: number
}

/** Our side of one exchange (RFC 4422): texts before base64. */
interface SaslExchange {
  /** The initial response of the AUTH command; null if the server speaks first. */
  initial: string | null
  /** @throws SaslFault */
  respond(challenge: string): Promise<string> | string
  /** True once the server has proved that it knows the password, if the mechanism requires it. */
  isServerProved(): boolean
}

/** A server that violates the mechanism; nothing more may be said to it. */
export class SaslFault extends Error {}

/** In order of preference. The first two reveal the password itself. */
const passwordMechanisms = ['PLAIN', 'LOGIN', 'SCRAM-SHA-256', 'CRAM-MD5'] as const
type PasswordMechanism = (typeof passwordMechanisms)[number]
/** In order of preference. Both reveal the token. */
const tokenMechanisms = ['OAUTHBEARER', 'XOAUTH2'] as const
type TokenMechanism = (typeof tokenMechanisms)[number]

/** A mechanism that the host offers and we may use. */
export interface UsableMechanism {
  name: PasswordMechanism | TokenMechanism
  start(): SaslExchange
}

/** The host's mechanisms that we may use: only a proven host gets the password or the token itself. */
export function usableMechanisms(offered: string[], credentials: Credentials | TokenCredentials, isVerified: boolean): UsableMechanism[] {
  if ('accessToken' in credentials) {
    return tokenMechanisms
      .filter((name) => offered.includes(name) && isVerified)
      .map((name) => ({ name, start: () => startTokenExchange(name, credentials) }))
  }
  return passwordMechanisms
    .filter((name) => offered.includes(name) && (isVerified || !tellsPassword(name)))
    .map((name) => ({ name, start: () => startExchange(name, credentials) }))
}

const tellsPassword = (name: PasswordMechanism): boolean => name === 'PLAIN' || name === 'LOGIN'

export function startExchange(name: PasswordMechanism, credentials: Credentials, nonce = randomBytes(18).toString('base64')): SaslExchange {
  switch (name) {
    case 'PLAIN':
      return plain(credentials)
    case 'LOGIN':
      return login(credentials)
    case 'SCRAM-SHA-256':
      return new ScramExchange(credentials, nonce)
    case 'CRAM-MD5':
      return cramMd5(credentials)
  }
}

/** A token that is refused comes back as a challenge; the answer to that has the host refuse the login. */
export function startTokenExchange(name: TokenMechanism, { user, accessToken, host, port }: TokenCredentials): SaslExchange {
  const bearer = `auth=Bearer ${accessToken}\x01\x01`
  return name === 'XOAUTH2'
    ? { initial: `user=${user}\x01${bearer}`, respond: () => '', isServerProved: () => true }
    : // RFC 7628 3.1, 3.2.3
      {
        initial: `n,a=${escaped(user)},\x01host=${host}\x01port=${port}\x01${bearer}`,
        respond: () => '\x01',
        isServerProved: () => true,
      }
}

/** RFC 5801 4. */
const escaped = (name: string): string => name.replaceAll('=', '=3D').replaceAll(',', '=2C')

/** RFC 4616. */
const plain = ({ user, password }: Credentials): SaslExchange => ({
  initial: `\0${user}\0${password}`,
  respond: () => {
    throw new SaslFault('it asks for more than PLAIN has')
  },
  isServerProved: () => true,
})

/** draft-murchison-sasl-login: the user, then the password, whatever the prompts say. */
function login({ user, password }: Credentials): SaslExchange {
  const answers = [user, password]
  const respond = (): string => {
    const answer = answers.shift()
    if (answer === undefined) throw new SaslFault('it asks for more than LOGIN has')
    return answer
  }
  return { initial: null, respond, isServerProved: () => true }
}

/** RFC 2195. */
const cramMd5 = ({ user, password }: Credentials): SaslExchange => ({
  initial: null,
  respond: (challenge) => `${user} ${createHmac('md5', password).update(challenge).digest('hex')}`,
  isServerProved: () => true,
})

const deriveKey = promisify(pbkdf2)
/** The most rounds a server may ask for, or it would keep us busy. */
const maxIterations = 1_000_000

/** RFC 5802, RFC 7677, without channel binding. */
class ScramExchange implements SaslExchange {
  readonly initial: string
  readonly #password: string
  readonly #nonce: string
  /** What the server must say at the end; null before it is computed. */
  #signature: Buffer | null = null
  #isProved = false

  constructor({ user, password }: Credentials, nonce: string) {
    // RFC 4013 does more, for characters that no provider hands out.
    const name = escaped(user.normalize('NFKC'))
    this.#password = password.normalize('NFKC')
    this.#nonce = nonce
    this.initial = `n,,n=${name},r=${nonce}`
  }

  respond(challenge: string): Promise<string> | string {
    return this.#signature ? this.#last(challenge, this.#signature) : this.#first(challenge)
  }

  isServerProved(): boolean {
    return this.#isProved
  }

  async #first(challenge: string): Promise<string> {
    const { r: nonce = '', s: salt = '', i = '' } = attributes(challenge)
    const iterations = Number(i)
    const isValid = nonce.length > this.#nonce.length && nonce.startsWith(this.#nonce) && salt !== '' && iterations >= 1
    if (!isValid || !Number.isInteger(iterations)) throw new SaslFault('its SCRAM challenge is malformed')
    if (iterations > maxIterations) throw new SaslFault(`it asks for ${iterations} rounds`)
    const salted = await deriveKey(this.#password, Buffer.from(salt, 'base64'), iterations, 32, 'sha256')
    const clientKey = hmac(salted, 'Client Key')
    const withoutProof = `c=biws,r=${nonce}`
    const signed = `${this.initial.slice(3)},${challenge},${withoutProof}`
    const clientSignature = hmac(createHash('sha256').update(clientKey).digest(), signed)
    this.#signature = hmac(hmac(salted, 'Server Key'), signed)
    const proof = clientKey.map((byte, place) => byte ^ (clientSignature[place] as number))
    return `${withoutProof},p=${Buffer.from(proof).toString('base64')}`
  }

  #last(challenge: string, signature: Buffer): string {
    const given = Buffer.from(attributes(challenge).v ?? '', 'base64')
    this.#isProved = given.length === signature.length && timingSafeEqual(given, signature)
    if (!this.#isProved) throw new SaslFault('it failed to prove that it knows the password')
    return ''
  }
}

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const attributes = (message: string): Record<string, string> =>
  Object.fromEntries(message.split(',').map((part) => [part.slice(0, 1), part.slice(2)]))
