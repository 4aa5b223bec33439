import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { ConflictError, refusedAs } from '../../platform/store/database.ts'
import type { Accounts } from './accounts.ts'
import { digestOf } from './api-key-token.ts'
import { randomToken } from './link-token.ts'
import type { StoredUser } from './user.ts'
import type { Users } from './users.ts'

interface SetupServices extends Pick<BaseServices, 'db' | 'clock'> {
  accounts: Accounts
  users: Users
}

/**
 * The link that makes the first person who opens it the owner of the first account and the operator of the server. It exists until
 * there is an owner, and is printed where only those who run the server can read it.
 */
export class SetupLink {
  readonly #services: SetupServices

  constructor(services: SetupServices) {
    this.#services = services
  }

  /** Whether somebody has become the owner. */
  get hasOwner(): boolean {
    return this.#services.users.list().some(({ role, status }) => role === 'owner' && status === 'active')
  }

  /** Replaces the token with a new one; null if there is an owner. Only its digest is stored. */
  async renew(): Promise<string | null> {
    if (this.hasOwner) return null
    const token = randomToken()
    await this.#services.db.write([
      {
        sql: `insert into setup_link (name, digest, created_at) values ('first owner', :digest, :now)
              on conflict (name) do update set digest = excluded.digest, created_at = excluded.created_at`,
        params: { digest: digestOf(token), now: this.#services.clock.now() },
      },
    ])
    return token
  }

  /** No link lets anybody in. */
  async withdraw(): Promise<void> {
    await this.#services.db.write([{ sql: 'delete from setup_link' }])
  }

  /** @throws SternaError `not_found` unless this is the current link */
  async check(token: string): Promise<void> {
    const [current] = await this.#services.db.read<{ digest: string }>("select digest from setup_link where name = 'first owner'")
    if (current?.digest !== digestOf(token) || this.hasOwner) throw linkOver()
  }

  /**
   * Creates the first owner. If two people use the link at once, only one succeeds.
   * @throws SternaError `not_found`, `validation_error`, `user_exists`
   */
  async use(token: string, { email, password }: { email: string; password: string }): Promise<StoredUser> {
    await this.check(token)
    const { accounts, users } = this.#services
    const [account] = accounts.list()
    if (!account) throw new SternaError('invalid_state', 'There is no account yet. Create one with: sterna account create NAME')
    const { user } = users.newUser({ accountId: account.id, email, role: 'owner', operator: true })
    const owner = { ...user, password: await users.hashFor(user, password), status: 'active' as const }
    const use = { sql: 'delete from setup_link where digest = :digest', params: { digest: digestOf(token) }, expect: 1 }
    await refusedAs(users.add(owner, [use]), ConflictError, linkOver)
    return owner
  }
}

const linkOver = (): SternaError =>
  new SternaError(
    'not_found',
    'This set-up link has been used or replaced by a newer one. Each start of the server prints the newest one, or the ' +
      'command that makes one. "sterna user reset EMAIL" prints a link for users who cannot log in.',
  )
