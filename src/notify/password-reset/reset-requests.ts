import type { BaseServices } from '../../platform/base-services.ts'
import type { Accounts } from '../../senders/account/accounts.ts'
import type { AuditLog } from '../../senders/account/audit-log.ts'
import { resetLinkMs, type PasswordResets } from '../../senders/account/password-resets.ts'
import { userEmail } from '../../senders/account/user-email.ts'
import type { StoredUser } from '../../senders/account/user.ts'
import type { Users } from '../../senders/account/users.ts'
import { SternaError } from '../../platform/errors.ts'
import { clientNetwork } from '../../platform/ip-address.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import { CountedUses, type Use } from '../../platform/store/counted-uses.ts'
import type { SystemMailer } from '../../mail-in/submission/system-mail.ts'
import { composeResetMail } from './compose-reset-mail.ts'

interface ResetRequestsServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  users: Pick<Users, 'withEmail'>
  accounts: Pick<Accounts, 'accountFor'>
  resets: Pick<PasswordResets, 'tokenFor'>
  audit: Pick<AuditLog, 'statementFor'>
  systemMail: { send(...mail: Parameters<SystemMailer['send']>): Promise<unknown> }
}

interface ResetRequestsSettings {
  /** The links in the mails begin with it, whatever host a request named. */
  baseUrl: string
  /** False if no mail may leave the machine. */
  canMail: boolean
}

/** Somebody who says that they have forgotten their password. */
interface ResetRequest {
  email: string
  /** Of the client. */
  address: string
  requestId: string
}

const hourMs = 60 * minuteMs
/** So that nobody floods a mailbox, and nobody tries addresses in numbers. */
const perHour = { ofEmail: 3, ofNetwork: 20 }
/** Of one request, where many accounts have a user with this address. */
const maxMails = 10

/**
 * Sends links to users who have forgotten their password. A request is answered before anybody looks whether there is such a user, and what is
 * done for it comes after: neither the answer nor its timing tells.
 */
export class ResetRequests {
  readonly #services: ResetRequestsServices
  readonly #settings: ResetRequestsSettings
  readonly #ofEmail: CountedUses
  readonly #ofNetwork: CountedUses
  #work: Promise<void> = Promise.resolve()

  constructor(services: ResetRequestsServices, settings: ResetRequestsSettings) {
    this.#services = services
    this.#settings = settings
    this.#ofEmail = new CountedUses(services, { name: 'new password for a user', limit: perHour.ofEmail, windowMs: hourMs })
    this.#ofNetwork = new CountedUses(services, { name: 'new password from a network', limit: perHour.ofNetwork, windowMs: hourMs })
  }

  /**
   * Sees to it that a link is sent soon if there is such a user.
   * @throws SternaError `rate_limit_exceeded`, `invalid_state` if this server sends no mail
   */
  async take(request: ResetRequest): Promise<void> {
    if (!this.#settings.canMail) {
      throw new SternaError('invalid_state', 'This server sends no mail. Whoever runs it prints a link with: sterna user reset EMAIL')
    }
    demandRoom(await this.#ofNetwork.take(clientNetwork(request.address)))
    demandRoom(await this.#ofEmail.take(userEmail(request.email)))
    // Whoever waits for the answer has it before.
    const answered = new Promise((resolve) => setImmediate(resolve))
    this.#work = Promise.all([this.#work, answered]).then(() =>
      this.#send(request).catch((error: unknown) => this.#services.log.error({ error }, 'the mail for a new password could not be sent')),
    )
  }

  /** Resolves when what was taken is done. */
  async idle(): Promise<void> {
    await this.#work
  }

  /** One mail for each account that has such a user. */
  async #send(request: ResetRequest): Promise<void> {
    const { accounts, users } = this.#services
    // Somebody who was invited has no password yet, and a link for that.
    // The first to have used the address come first: later ones, with passwords of others' choice, take nobody's place.
    const asking = users
      .withEmail(request.email)
      .filter(({ password }) => password !== null)
      .toSorted((a, b) => a.createdAt - b.createdAt)
    for (const user of asking.slice(0, maxMails)) {
      const account = asking.length > 1 ? (accounts.accountFor(user.accountId)?.name ?? null) : null
      await this.#mail(user, account, request)
    }
  }

  async #mail(user: StoredUser, account: string | null, { address, requestId }: ResetRequest): Promise<void> {
    const { audit, clock, resets, systemMail } = this.#services
    const { baseUrl } = this.#settings
    const mail = composeResetMail({
      to: user.email,
      link: `${baseUrl}/reset/${resets.tokenFor(user)}`,
      server: baseUrl,
      account,
      askedFrom: address,
      askedAt: clock.now(),
      minutes: resetLinkMs / minuteMs,
    })
    const record = audit.statementFor({
      accountId: user.accountId,
      // Whoever asked has proved nothing.
      actor: { type: 'server', id: null, name: 'forgotten password' },
      operation: 'session.request_password_reset',
      objectId: user.id,
      fields: [],
      address,
      requestId,
    })
    await systemMail.send(mail, [record])
  }
}

function demandRoom({ waitMs }: Use): void {
  if (waitMs === 0) return
  const message = 'Too many requests for a new password. Wait before trying again.'
  throw new SternaError('rate_limit_exceeded', message, { retryAfter: Math.ceil(waitMs / 1000) })
}
