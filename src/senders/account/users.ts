import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { ConflictError, UniqueError, type Statement, refusedAs } from '../../platform/store/database.ts'
import { HeldList, heldRows } from '../../platform/store/held-list.ts'
import type { Accounts } from './accounts.ts'
import { digestOf } from './api-key-token.ts'
import { knownParty } from './hash-turns.ts'
import { randomToken } from './link-token.ts'
import type { PasswordHasher } from './password-hash.ts'
import type { Role } from './permission.ts'
import { changeUser, deleteUser, demandOtherOperator, setPassword, shutOutUnlessLast, takeInvitation } from './user-changes.ts'
import { checkedUserEmail, userEmail } from './user-email.ts'
import { storedUserOf, userRows, type StoredUser, type User } from './user.ts'

interface UsersServices extends Pick<BaseServices, 'db' | 'clock' | 'changes'> {
  accounts: Accounts
  passwords: PasswordHasher
}

interface NewUser {
  accountId: string
  email: string
  role: Role
  operator: boolean
}

/** How long an invitation can be accepted. */
const invitationMs = 7 * 24 * 3_600_000

/** The users, held in memory: a change of role takes effect with the next request. Load the accounts first. */
export class Users extends HeldList<StoredUser> {
  readonly #services: UsersServices

  constructor(services: UsersServices) {
    const { db, changes } = services
    super({
      kind: 'account_user',
      changes,
      fetch: heldRows(db, { select: `select ${userRows.columns} from account_user`, read: storedUserOf }),
    })
    this.#services = services
  }

  /** Of one account or of all, oldest first. */
  list(accountId?: string): User[] {
    return this.inOrder((user) => accountId === undefined || user.accountId === accountId)
  }

  find(id: string): StoredUser | undefined {
    return this.held(id)
  }

  /** @throws SternaError `not_found`, or `validation_error` if several accounts have a user with this email address */
  get(idOrEmail: string): StoredUser {
    const known = this.held(idOrEmail)
    const [user = known, ...others] = known ? [] : this.withEmail(idOrEmail)
    if (others.length > 0) throw severalUsers(idOrEmail)
    if (user) return user
    throw new SternaError('not_found', `There is no user "${idOrEmail}". "sterna user list" lists them.`)
  }

  /** Each account may have one. The last to have logged in comes first. */
  withEmail(email: string): StoredUser[] {
    const wanted = userEmail(email)
    return this.inOrder((user) => user.email === wanted).toSorted((a, b) => (b.lastLoginAt ?? 0) - (a.lastLoginAt ?? 0))
  }

  /**
   * A password of this user's, hashed. Users with one email address share a salt, so how long a login takes does not tell how many there are.
   * @throws SternaError `validation_error`, `service_unavailable`
   */
  hashFor({ id, email }: Pick<User, 'id' | 'email'>, password: string): Promise<string> {
    const like = this.withEmail(email).find((other) => other.id !== id && other.password !== null)?.password ?? null
    return this.#services.passwords.hash(password, knownParty(id), like)
  }

  /**
   * Adds a user who has yet to accept the invitation. The result is the only place where its token ever appears.
   * @throws SternaError `not_found` for the account, `user_exists`, `validation_error`
   */
  async invite(wanted: NewUser): Promise<{ user: User; token: string }> {
    const token = randomToken()
    const { now, user } = this.newUser(wanted)
    const invited = { ...user, invitationDigest: digestOf(token), invitationExpiresAt: now + invitationMs }
    await this.add(invited, [])
    return { user: invited, token }
  }

  /**
   * Replaces any earlier invitation with a new one: for users whose link has expired, or who have lost their password or second factor.
   * Both are replaced when it is accepted.
   * @throws SternaError `not_found`
   */
  async inviteAgain(id: string): Promise<{ user: User; token: string }> {
    const user = this.get(id)
    const token = randomToken()
    const [invitationDigest, invitationExpiresAt] = [digestOf(token), this.#services.clock.now() + invitationMs]
    await this.#services.db.write([
      {
        sql: `update account_user set invitation_digest = :invitationDigest, invitation_expires_at = :invitationExpiresAt where id = :id`,
        params: { id: user.id, invitationDigest, invitationExpiresAt },
      },
      ...this.note(user.id),
    ])
    return { user: await this.changed(user.id), token }
  }

  /**
   * Whose invitation this is.
   * @throws SternaError `not_found` if it was accepted, has expired or never existed
   */
  invited(token: string): User {
    const digest = digestOf(token)
    const [user] = this.inOrder((known) => known.invitationDigest === digest)
    if (user && (user.invitationExpiresAt ?? 0) > this.#services.clock.now()) return user
    throw invitationOver()
  }

  /**
   * Accepts an invitation by setting a password. If two people try at once, only one succeeds.
   * @throws SternaError `not_found`, `validation_error`
   */
  async takeInvitation(token: string, password: string): Promise<StoredUser> {
    const user = this.get(this.invited(token).id)
    const hash = await this.hashFor(user, password)
    const taken = { digest: digestOf(token), hash, now: this.#services.clock.now() }
    await this.#writeOr(invitationOver, [...takeInvitation(user.id, taken), ...this.note(user.id)])
    return this.#over(user.id)
  }

  /** @throws SternaError `not_found`, or `invalid_state` for the account's last owner and for the last operator */
  async change(id: string, change: { role?: Role | undefined; operator?: boolean | undefined }): Promise<User> {
    const { id: known } = this.get(id)
    await this.#writeOr(lastOne, [changeUser(known, change), ...this.note(known)])
    return this.#over(known)
  }

  /** @throws SternaError `not_found`, or `invalid_state` for the account's last owner and for the last operator */
  async remove(id: string): Promise<void> {
    const user = this.get(id)
    await this.#writeOr(lastOne, [shutOutUnlessLast(user.id), ...deleteUser(user.id), ...this.note(user.id)])
    this.drop(user.id)
    await this.changes.seenByAll()
  }

  /**
   * Removes all users of an account that is being removed.
   * @throws SternaError `invalid_state` if the last operator is among them
   */
  async removeAll(accountId: string): Promise<void> {
    const users = this.list(accountId)
    if (users.length === 0) return
    await this.#writeOr(lastOne, [demandOtherOperator(accountId), ...users.flatMap(({ id }) => [...deleteUser(id), ...this.note(id)])])
    for (const { id } of users) this.drop(id)
    await this.changes.seenByAll()
  }

  /**
   * Sets a new password, hashed, in place of the one that was shown to be known. It ends the user's invitation and, once the caller has
   * ended them in `Sessions` too, all sessions.
   * @throws SternaError `invalid_credentials` if it has changed in the meantime
   */
  async setPassword(id: string, hash: string, { shown }: { shown: string | null }): Promise<StoredUser> {
    await this.#writeOr(passwordOver, [...setPassword(id, { hash, shown }), ...this.note(id)])
    return this.#over(id)
  }

  /**
   * Stores the same password hashed anew, in place of the hash that was checked.
   * @throws SternaError `invalid_credentials` if it has changed in the meantime
   */
  async renewHash(id: string, hash: string, { shown }: { shown: string | null }): Promise<void> {
    await this.#writeOr(passwordOver, [
      { sql: 'update account_user set password = :hash where id = :id and password = :shown', params: { id, hash, shown }, expect: 1 },
      ...this.note(id),
    ])
    await this.changed(id)
  }

  /**
   * A user without a password, not yet saved.
   * @throws SternaError `not_found` for the account, `validation_error`
   */
  newUser(wanted: NewUser): { now: number; user: StoredUser } {
    const now = this.#services.clock.now()
    const user: StoredUser = {
      id: newId('usr', now),
      accountId: this.#services.accounts.getAccount(wanted.accountId).id,
      email: checkedUserEmail(wanted.email),
      role: wanted.role,
      operator: wanted.operator,
      status: 'invited',
      hasSecondFactor: false,
      createdAt: now,
      lastLoginAt: null,
      invitationExpiresAt: null,
      password: null,
      invitationDigest: null,
      totpSecret: null,
      totpPending: null,
      totpStep: 0,
    }
    return { now, user }
  }

  /**
   * Saves a new user in one batch with `guards`.
   * @throws SternaError `user_exists`
   * @throws ConflictError if a guard was not met
   */
  async add(user: StoredUser, guards: Statement[]): Promise<void> {
    await refusedAs(this.#services.db.write([...guards, userRows.insert(user), ...this.note(user.id)]), UniqueError, userExists)
    this.keep(user)
  }

  /**
   * A user whose row was changed, as it is now.
   * @throws SternaError `not_found` if somebody has removed the user meanwhile
   */
  async changed(id: string): Promise<StoredUser> {
    return (await this.reload(id)) ?? this.get(id)
  }

  /** The same once what the user could do before is over at every node. */
  async #over(id: string): Promise<StoredUser> {
    const user = await this.changed(id)
    await this.changes.seenByAll()
    return user
  }

  async #writeOr(refusal: () => SternaError, batch: Statement[]): Promise<void> {
    await refusedAs(this.#services.db.write(batch), ConflictError, refusal)
  }
}

const userExists = (cause: unknown): SternaError =>
  new SternaError('user_exists', 'This account has a user with this email address already.', { cause })

const severalUsers = (email: string): SternaError =>
  new SternaError('validation_error', `Several accounts have a user "${email}". Give the id instead; "sterna user list" shows it.`)

const invitationOver = (): SternaError => new SternaError('not_found', 'This invitation was used or has expired. Ask for a new one.')

const passwordOver = (): SternaError => new SternaError('invalid_credentials', 'The password has just been changed.')

const lastOne = (): SternaError =>
  new SternaError(
    'invalid_state',
    'This is the last owner of the account, or the last operator of the server. Give that role to somebody else first.',
  )
