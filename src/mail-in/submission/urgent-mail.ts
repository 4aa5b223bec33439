import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { urgentMailPolicy } from '../../senders/account/account-policy.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import type { Submission } from '../../mail/message/submission.ts'
import { isUrgent } from '../../mail/message/transfer-options.ts'
import type { Log } from '../../platform/log.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import type { LimitShares, LimitWindow, LimitWindows } from '../../platform/store/limit-shares.ts'

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

  /** The submission as it is taken: as usual mail if it is urgent and its account has had as many urgent recipients in this minute as it may. */
  ranked(submission: Submission): Submission | Promise<Submission> {
    return isUrgent(submission.options.transfer) && submission.submitter.accountId !== systemAccountId
      ? this.#withinLimit(submission)
      : submission
  }

  async #withinLimit(submission: Submission): Promise<Submission> {
    const { submitter, envelope, options } = submission
    const { perMinute } = this.#services.policies.of(urgentMailPolicy, submitter.accountId)
    const window = this.#windows.of(submitter.accountId)
    if (await takeAll(window, envelope.recipients.length, perMinute)) return submission
    return { ...submission, options: { ...options, transfer: { ...options.transfer, priority: 0 } }, isLowered: true }
  }
}

/** False if the limit is reached on the way. */
async function takeAll(window: LimitWindow, recipients: number, limit: number): Promise<boolean> {
  if (recipients > limit) return false
  for (let i = 0; i < recipients; i++) if (!(await window.take(limit))) return false
  return true
}
