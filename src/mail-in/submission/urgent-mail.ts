import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { urgentMailPolicy } from '../../senders/account/account-policy.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import type { Submission } from '../../mail/message/submission.ts'
import { isUrgent } from '../../mail/message/transfer-options.ts'
import type { Log } from '../../platform/log.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import type { LimitShares, LimitWindows } from '../../platform/store/limit-shares.ts'

interface UrgentMailServices {
  limitShares: LimitShares
  policies: Pick<AccountPolicies, 'of'>
  log: Log
}

/** How much mail of each account goes ahead of others: an account that calls all of its mail urgent gains nothing by it. */
export class UrgentMail {
  readonly #services: UrgentMailServices
  readonly #windows: LimitWindows

  constructor(services: UrgentMailServices) {
    this.#services = services
    this.#windows = services.limitShares.windows('urgent mail', { windowMs: minuteMs, isKept: false })
  }

  start(): Promise<void> {
    return this.#windows.start(this.#services.log)
  }

  stop(): Promise<void> {
    return this.#windows.stop()
  }

  /**
   * The submission as it is taken. Urgent mail becomes usual mail if it has more recipients than its account may still mail in this minute, and
   * if it is scheduled: the mail of many minutes could be due at once. Call it once for each message that is accepted: it counts.
   */
  ranked(submission: Submission): Submission | Promise<Submission> {
    return isUrgent(submission.options.transfer) && submission.submitter.accountId !== systemAccountId
      ? this.#withinLimit(submission)
      : submission
  }

  async #withinLimit(submission: Submission): Promise<Submission> {
    const { submitter, envelope, options } = submission
    const { accountId, sandbox } = submitter
    const { perMinute } = this.#services.policies.of(urgentMailPolicy, accountId)
    const window = this.#windows.of(sandbox ? `${accountId} sandbox` : accountId)
    if (options.scheduledAt === null && (await window.take(perMinute, envelope.recipients.length))) return submission
    return { ...submission, options: { ...options, transfer: { ...options.transfer, priority: 0 } }, isLowered: true }
  }
}
