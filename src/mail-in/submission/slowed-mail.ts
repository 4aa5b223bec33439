import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { harmLimits } from '../../senders/account/account-policy.ts'
import { type Account, accountAt, type Accounts } from '../../senders/account/accounts.ts'
import type { Submission } from '../../mail/message/submission.ts'
import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Log } from '../../platform/log.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import type { LimitShares, LimitWindows } from '../../platform/store/limit-shares.ts'

interface SlowedMailServices {
  limitShares: LimitShares
  accounts: Pick<Accounts, 'accountFor'>
  policies: Pick<AccountPolicies, 'of'>
  clock: Pick<Clock, 'now'>
  log: Log
}

/** How much mail is taken from slowed accounts, urgent mail like any other: an account that does harm could call all of it urgent. */
export class SlowedMail {
  readonly #services: SlowedMailServices
  readonly #windows: LimitWindows

  constructor(services: SlowedMailServices) {
    this.#services = services
    this.#windows = services.limitShares.windows('slowed mail', { windowMs: minuteMs, isKept: false })
  }

  start(): Promise<void> {
    return this.#windows.start(this.#services.log)
  }

  stop(): Promise<void> {
    return this.#windows.stop()
  }

  /**
   * Counts mail that is to be accepted together. Undefined if the account is not slowed.
   * @throws SternaError `rate_limit_exceeded`, in a promise
   */
  take({ accountId, sandbox }: Submission['submitter'], submissions: readonly Submission[]): Promise<void> | undefined {
    const account = sandbox ? undefined : this.#services.accounts.accountFor(accountId)
    const until = account && accountAt(account, this.#services.clock.now()).slowedUntil
    return account && until ? this.#takeUntil(until, account, submissions) : undefined
  }

  async #takeUntil(until: number, { id, harm }: Account, submissions: readonly Submission[]): Promise<void> {
    const { slowedPerMinute } = this.#services.policies.of(harmLimits, id)
    const recipients = submissions.reduce((sum, { envelope }) => sum + envelope.recipients.length, 0)
    const window = this.#windows.of(id)
    // One email with more recipients than that has a minute of its own.
    if (await window.take(slowedPerMinute, Math.min(recipients, slowedPerMinute))) return
    const message =
      `This account may mail only ${slowedPerMinute} recipients a minute until ${isoTime(until)}, because of its bounces or complaints. ` +
      `${harm ?? ''} Try again in a minute, and remove such addresses from your lists.`
    throw new SternaError('rate_limit_exceeded', message, { retryAfter: Math.ceil(window.untilNext(slowedPerMinute) / 1000) || 1 })
  }
}
