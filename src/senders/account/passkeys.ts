import type { BaseServices } from '../../platform/base-services.ts'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { clientNetwork } from '../../platform/ip-address.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import { CountedUses } from '../../platform/store/counted-uses.ts'
import { ConflictError, UniqueError, refusedAs } from '../../platform/store/database.ts'
import { storedRows } from '../../platform/store/stored-rows.ts'
import type { Secrets } from './key-file.ts'
import { demandNoWait } from './login.ts'
import { PasskeyChallenges } from './passkey-challenges.ts'
import { relyingPartyOf, type RelyingParty } from './relying-party.ts'
import type { StoredUser } from './user.ts'
import type { Users } from './users.ts'

interface PasskeysServices extends Pick<BaseServices, 'db' | 'clock'> {
  secrets: Pick<Secrets, 'generations'>
  users: Users
}

export interface Passkey {
  /** `pky_…` */
  id: string
  userId: string
  /** As the authenticator names it, base64url. */
  credentialId: string
  /** COSE. */
  publicKey: Uint8Array
  /** Of its signatures; 0 if the authenticator counts none. */
  counter: number
  /** How browsers reach it, separated by commas. */
  transports: string
  /** That its user gave it. */
  name: string
  /** Epoch, ms, like the next one. */
  createdAt: number
  lastUsedAt: number | null
}

const passkeyRows = storedRows<Passkey>('passkey')(
  ['id', 'userId', 'credentialId', 'publicKey', 'counter', 'transports', 'name', 'createdAt', 'lastUsedAt'],
  [],
)

const maxPasskeys = 20
const allowedAttempts = { name: 'passkey', limit: 20, windowMs: 15 * minuteMs }
/** EdDSA, ES256 and RS256 (COSE). */
const algorithms = [-8, -7, -257]

/**
 * Passkeys: keys on people's devices, with which they log in without a password (WebAuthn). The device checks who uses it, by finger, face or
 * PIN, so no other factor is asked for.
 */
export class Passkeys {
  readonly #services: PasskeysServices
  readonly #party: RelyingParty | null
  readonly #challenges: PasskeyChallenges
  /** By client network. */
  readonly #attempts: CountedUses

  constructor(services: PasskeysServices, baseUrl: string) {
    this.#services = services
    this.#party = relyingPartyOf(baseUrl)
    this.#challenges = new PasskeyChallenges(services)
    this.#attempts = new CountedUses(services, allowedAttempts)
  }

  /** The name under which they work; null if they cannot work at this server's `base_url`. */
  get host(): string | null {
    return this.#party?.id ?? null
  }

  /** Oldest first. */
  async list(userId: string): Promise<Passkey[]> {
    const rows = await this.#services.db.read(`select ${passkeyRows.columns} from passkey where user_id = :userId order by id`, { userId })
    return rows.map(passkeyRows.read)
  }

  /**
   * What a browser needs to make a passkey, in the session that asks.
   * @throws SternaError `invalid_state` if passkeys cannot work here, or there are many already
   */
  async registrationOptions(user: StoredUser, sessionId: string): Promise<object> {
    const { id } = this.#checkedParty()
    const known = await this.list(user.id)
    if (known.length >= maxPasskeys) throw new SternaError('invalid_state', `You have ${maxPasskeys} passkeys already. Remove one first.`)
    const { generateRegistrationOptions } = await import('@simplewebauthn/server')
    return generateRegistrationOptions({
      rpName: 'Sterna',
      rpID: id,
      userName: user.email,
      userDisplayName: user.email,
      userID: new TextEncoder().encode(user.id),
      challenge: bytesOf(this.#challenges.issue(registrationBy(sessionId))),
      attestationType: 'none',
      excludeCredentials: known.map(({ credentialId }) => ({ id: credentialId })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs: algorithms,
    })
  }

  /**
   * Keeps the passkey that a browser has made.
   * @throws SternaError `invalid_credentials`, `invalid_state`, `invalid_session`
   */
  async register(userId: string, sessionId: string, { name, credential }: { name: string; credential: RegistrationResponseJSON }) {
    const { id: expectedRPID, origin: expectedOrigin } = this.#checkedParty()
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
    const shown = this.#shownBy(registrationBy(sessionId))
    const checked = await verifyRegistrationResponse({
      response: credential,
      expectedChallenge: shown.check,
      expectedOrigin,
      expectedRPID,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    }).catch(refused)
    if (!checked.verified) throw wrongPasskey()
    const { id: credentialId, publicKey, counter } = checked.registrationInfo.credential
    const now = this.#services.clock.now()
    const transports = (credential.response.transports ?? []).join(',')
    const passkey = { id: newId('pky', now), userId, credentialId, publicKey, counter, transports, name, createdAt: now, lastUsedAt: null }
    // A session that has ended in the meantime, by a new password for example, leaves no key behind.
    const inSession = {
      sql: 'update user_session set last_seen_at = last_seen_at where id = :sessionId and user_id = :userId',
      params: { sessionId, userId },
      expect: 1,
    }
    const batch = [inSession, ...this.#challenges.useUp(shown.challenge), passkeyRows.insert(passkey)]
    const written = refusedAs(this.#services.db.write(batch), UniqueError, alreadyKnown)
    await refusedAs(written, ConflictError, (cause) => (isUsedUp(cause) ? wrongPasskey(cause) : sessionOver(cause)))
    return passkey
  }

  /**
   * What a browser needs to log in with a passkey. It names no user: the browser knows which of its passkeys are for this server.
   * @param browser a secret of this browser's
   * @throws SternaError `invalid_state`
   */
  async loginOptions(browser: string): Promise<object> {
    const { id } = this.#checkedParty()
    const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
    const challenge = bytesOf(this.#challenges.issue(loginBy(browser)))
    return generateAuthenticationOptions({ rpID: id, challenge, userVerification: 'required' })
  }

  /**
   * Whose passkey this is, if its answer is valid.
   * @param client `browser`: the secret that `loginOptions` was given; `address`: of the client
   * @throws SternaError `invalid_credentials`, `invalid_state`, `rate_limit_exceeded`
   */
  async verify(credential: AuthenticationResponseJSON, client: { browser: string; address: string }): Promise<StoredUser> {
    const party = this.#checkedParty()
    const attempt = await this.#attempts.take(clientNetwork(client.address))
    demandNoWait(attempt)
    const passkey = await this.#find(credential.id)
    const user = passkey && this.#services.users.find(passkey.userId)
    if (!passkey || !user) throw wrongPasskey()
    const shown = this.#shownBy(loginBy(client.browser))
    const counter = await this.#checkedCounter(passkey, credential, { party, check: shown.check })
    await this.#noteUse(passkey, { counter, challenge: shown.challenge })
    await attempt.giveBack()
    return user
  }

  /** @throws SternaError `not_found` */
  async rename(userId: string, id: string, name: string): Promise<Passkey> {
    const rename = { sql: 'update passkey set name = :name where id = :id and user_id = :userId', params: { id, userId, name }, expect: 1 }
    await refusedAs(this.#services.db.write([rename]), ConflictError, noPasskey)
    const renamed = (await this.list(userId)).find((passkey) => passkey.id === id)
    if (!renamed) throw noPasskey()
    return renamed
  }

  /** @throws SternaError `not_found` */
  async remove(userId: string, id: string): Promise<void> {
    const remove = { sql: 'delete from passkey where id = :id and user_id = :userId', params: { id, userId }, expect: 1 }
    await refusedAs(this.#services.db.write([remove]), ConflictError, noPasskey)
  }

  async #find(credentialId: string): Promise<Passkey | undefined> {
    const sql = `select ${passkeyRows.columns} from passkey where credential_id = :credentialId`
    const [row] = await this.#services.db.read(sql, { credentialId })
    return row && passkeyRows.read(row)
  }

  /** The new counter. One that does not grow is refused: the passkey may have been copied (WebAuthn 6.1.1). */
  async #checkedCounter(
    { credentialId: id, publicKey, counter }: Passkey,
    response: AuthenticationResponseJSON,
    { party, check }: { party: RelyingParty; check(challenge: string): boolean },
  ): Promise<number> {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
    const checked = await verifyAuthenticationResponse({
      response,
      expectedChallenge: check,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      credential: { id, publicKey: new Uint8Array(publicKey), counter },
      requireUserVerification: true,
    }).catch(refused)
    if (!checked.verified) throw wrongPasskey()
    return checked.authenticationInfo.newCounter
  }

  async #noteUse({ id }: Passkey, { counter, challenge }: { counter: number; challenge: string }): Promise<void> {
    const use = {
      sql: `update passkey set counter = :counter, last_used_at = :now where id = :id and (counter < :counter or counter = 0)`,
      params: { id, counter, now: this.#services.clock.now() },
      expect: 1,
    }
    await refusedAs(this.#services.db.write([use, ...this.#challenges.useUp(challenge)]), ConflictError, wrongPasskey)
  }

  /** Checks the challenge in the answer of a browser, and remembers it. */
  #shownBy(browser: string): { challenge: string; check(challenge: string): boolean } {
    const shown = {
      challenge: '',
      check: (challenge: string): boolean => {
        shown.challenge = challenge
        return this.#challenges.isFor(browser, challenge)
      },
    }
    return shown
  }

  #checkedParty(): RelyingParty {
    if (this.#party) return this.#party
    throw new SternaError('invalid_state', 'Passkeys need a base_url with https and a host name; browsers know none at IP addresses.')
  }
}

const registrationBy = (sessionId: string): string => `registration ${sessionId}`
const loginBy = (browser: string): string => `login ${browser}`

const bytesOf = (challenge: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(challenge, 'base64url'))

/** The library throws what is wrong with an answer; it comes from a stranger, so nothing of it is told. */
const refused = (cause: unknown): never => {
  throw wrongPasskey(cause)
}

const isUsedUp = (cause: unknown): boolean => cause instanceof ConflictError && cause.guard === 'challenge'

const wrongPasskey = (cause?: unknown): SternaError =>
  new SternaError('invalid_credentials', 'This passkey is not known here, or its answer is not valid. Try again.', { cause })

const sessionOver = (cause: unknown): SternaError =>
  new SternaError('invalid_session', 'Your session has ended. Log in and make the passkey again.', { cause })

const alreadyKnown = (): SternaError => new SternaError('invalid_state', 'This passkey is known already.')

const noPasskey = (): SternaError => new SternaError('not_found', 'You have no such passkey.')
