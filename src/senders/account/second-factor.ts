import type { BaseServices } from '../../platform/base-services.ts'
import { randomBytes } from 'node:crypto'
import { SternaError } from '../../platform/errors.ts'
import { ConflictError, type Statement, refusedAs } from '../../platform/store/database.ts'
import { digestOf } from './api-key-token.ts'
import type { Secrets } from './key-file.ts'
import { base32, matchingStep, otpauthUri, totpSecretBytes } from './totp.ts'
import type { StoredUser } from './user.ts'
import type { Users } from './users.ts'

interface SecondFactorServices extends Pick<BaseServices, 'db' | 'clock'> {
  secrets: Secrets
  users: Users
}

const recoveryCodeCount = 10

/** The codes that users may choose to enter in addition to their password: from an app (RFC 6238), or from paper. */
export class SecondFactors {
  readonly #services: SecondFactorServices
  /** The name of this server in apps. */
  readonly #issuer: string

  constructor(services: SecondFactorServices, issuer: string) {
    this.#services = services
    this.#issuer = issuer
  }

  /**
   * A new secret for an app. It takes effect once `confirm` has seen a code from it.
   * @throws SternaError `invalid_state` if there is already a second factor
   */
  async begin(userId: string): Promise<{ secret: string; uri: string }> {
    const { db, secrets, users } = this.#services
    const user = users.get(userId)
    if (user.totpSecret) throw new SternaError('invalid_state', 'A second factor is already set up. Remove it first.')
    const secret = randomBytes(totpSecretBytes)
    const totpPending = secrets.seal(secret, sealContext(user))
    await db.write([
      { sql: 'update account_user set totp_pending = :totpPending where id = :id', params: { id: user.id, totpPending }, expect: 1 },
      ...users.note(user.id),
    ])
    await users.changed(userId)
    return { secret: base32(secret), uri: otpauthUri(secret, { issuer: this.#issuer, email: user.email }) }
  }

  /**
   * Turns the second factor on. The result is the only place where the recovery codes ever appear.
   * @throws SternaError `invalid_state` if none was begun, `invalid_credentials` if the code is wrong
   */
  async confirm(userId: string, code: string): Promise<string[]> {
    const { clock, secrets, users } = this.#services
    const user = users.get(userId)
    if (!user.totpPending || user.totpSecret) throw new SternaError('invalid_state', 'The setup of a second factor has not been started.')
    const step = matchingStep(secrets.open(user.totpPending, sealContext(user)), code, { now: clock.now(), lastStep: 0 })
    if (step === null) throw wrongCode()
    const codes = Array.from({ length: recoveryCodeCount }, newRecoveryCode)
    await this.#write([
      {
        sql: `update account_user set totp_secret = totp_pending, totp_pending = null, totp_step = :step
               where id = :id and totp_pending = :totpPending and totp_secret is null`,
        params: { id: user.id, step, totpPending: user.totpPending },
        expect: 1,
      },
      ...codes.map((recoveryCode) => ({
        sql: 'insert into recovery_code (user_id, digest) values (:userId, :digest)',
        params: { userId: user.id, digest: digestOf(recoveryCode) },
      })),
      ...users.note(user.id),
    ])
    await users.changed(userId)
    return codes
  }

  /**
   * Accepts a code from the app or a recovery code; each works once.
   * @throws SternaError `second_factor_required` without a code, `invalid_credentials` if it is wrong or used
   */
  async check(userId: string, code: string | undefined): Promise<void> {
    const { clock, secrets, users } = this.#services
    const user = users.get(userId)
    if (!user.totpSecret) return
    if (code === undefined) {
      throw new SternaError('second_factor_required', 'Send the `code` from your authenticator app, or a recovery code.')
    }
    const secret = secrets.open(user.totpSecret, sealContext(user))
    const step = matchingStep(secret, code.trim(), { now: clock.now(), lastStep: user.totpStep })
    if (step === null) {
      const digest = digestOf(code.trim().toLowerCase())
      await this.#write([
        { sql: 'delete from recovery_code where user_id = :id and digest = :digest', params: { id: user.id, digest }, expect: 1 },
      ])
      return
    }
    await this.#write([
      { sql: 'update account_user set totp_step = :step where id = :id and totp_step < :step', params: { id: user.id, step }, expect: 1 },
      ...users.note(user.id),
    ])
    await users.changed(userId)
  }

  /** From then on the password alone is enough to log in. */
  async remove(userId: string): Promise<void> {
    const { db, users } = this.#services
    await db.write([
      { sql: 'update account_user set totp_secret = null, totp_pending = null where id = :id', params: { id: userId }, expect: 1 },
      { sql: 'delete from recovery_code where user_id = :id', params: { id: userId } },
      ...users.note(userId),
    ])
    await users.changed(userId)
  }

  /** @throws SternaError as for a wrong code, if another request has used it in the meantime */
  async #write(batch: Statement[]): Promise<void> {
    await refusedAs(this.#services.db.write(batch), ConflictError, wrongCode)
  }
}

const sealContext = ({ id }: StoredUser): string => `totp ${id}`

/** 80 random bits, in groups that are easy to type. */
const newRecoveryCode = (): string =>
  base32(randomBytes(10))
    .toLowerCase()
    .replace(/(.{4})(?=.)/g, '$1-')

const wrongCode = (): SternaError => new SternaError('invalid_credentials', 'The code is wrong or has already been used.')
