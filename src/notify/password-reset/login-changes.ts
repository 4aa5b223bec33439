import type { BaseServices } from '../../platform/base-services.ts'
import type { Accounts } from '../../senders/account/accounts.ts'
import type { User } from '../../senders/account/user.ts'
import type { Users } from '../../senders/account/users.ts'
import type { SystemMailer } from '../../mail-in/submission/system-mail.ts'
import { composeChangeMail, type LoginChange } from './compose-change-mail.ts'

interface LoginChangesServices extends Pick<BaseServices, 'clock' | 'log'> {
  users: Pick<Users, 'withEmail'>
  accounts: Pick<Accounts, 'accountFor'>
  systemMail: { send(...mail: Parameters<SystemMailer['send']>): Promise<unknown> }
}

interface LoginChangesSettings {
  baseUrl: string
  /** False if no mail may leave the machine: then nobody is told. */
  canMail: boolean
}

/** Tells users by mail of changes to how they log in. The change itself neither waits for the mail nor fails with it. */
export class LoginChanges {
  readonly #services: LoginChangesServices
  readonly #settings: LoginChangesSettings
  #work: Promise<void> = Promise.resolve()

  constructor(services: LoginChangesServices, settings: LoginChangesSettings) {
    this.#services = services
    this.#settings = settings
  }

  /** Sees to it that the user is told soon. */
  tell(user: Pick<User, 'email' | 'accountId'>, change: LoginChange, client: { address: string; userAgent: string }): void {
    if (!this.#settings.canMail) return
    const { clock, log } = this.#services
    const at = clock.now()
    this.#work = this.#work.then(() =>
      this.#send(user, change, { ...client, at }).catch((error: unknown) =>
        log.error({ error, change }, 'the mail about a change to how a user logs in could not be sent'),
      ),
    )
  }

  /** Resolves when what was taken is done. */
  async idle(): Promise<void> {
    await this.#work
  }

  async #send(
    { email, accountId }: Pick<User, 'email' | 'accountId'>,
    change: LoginChange,
    by: { address: string; userAgent: string; at: number },
  ): Promise<void> {
    const { accounts, users, systemMail } = this.#services
    const account = users.withEmail(email).length > 1 ? (accounts.accountFor(accountId)?.name ?? null) : null
    await systemMail.send(composeChangeMail({ to: email, change, server: this.#settings.baseUrl, account, ...by }))
  }
}
