import type { BaseServices } from '../../platform/base-services.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import type { LimitWindow, LimitWindows } from '../../platform/store/limit-shares.ts'
import type { Accounts } from '../../senders/account/accounts.ts'

interface RateLimitServices extends Pick<BaseServices, 'limitShares' | 'log'> {
  accounts: Pick<Accounts, 'accountFor'>
}

interface RateLimitSettings {
  /** Requests per minute, by plan. */
  plans: Record<string, number>
  /** The limit for an account whose plan no longer exists. */
  defaultPlan: string
}

/** The state of an account after one more request. */
export interface RateVerdict {
  accepted: boolean
  plan: string
  limit: number
  remaining: number
  /** Whole seconds, at least 1, until one more request is allowed than now. */
  resetSeconds: number
}

interface PlanLimit {
  plan: string
  limit: number
}

/** Requests a minute of each user who is logged in: more than a person with several open tabs makes. */
const userLimit: PlanLimit = { plan: 'user', limit: 600 }

/**
 * Counts the requests of each account against its plan: never more than the plan allows in any 60 seconds, at all nodes together. A restart
 * forgets none of an account.
 */
export class RateLimit {
  readonly #services: RateLimitServices
  readonly #settings: RateLimitSettings
  readonly #accounts: LimitWindows
  readonly #users: LimitWindows

  constructor(services: RateLimitServices, settings: RateLimitSettings) {
    this.#services = services
    this.#settings = settings
    this.#accounts = services.limitShares.windows('requests', { windowMs: minuteMs, isKept: true })
    this.#users = services.limitShares.windows('requests', { windowMs: minuteMs, isKept: false })
  }

  async start(): Promise<void> {
    for (const windows of [this.#accounts, this.#users]) await windows.start(this.#services.log)
  }

  async stop(): Promise<void> {
    for (const windows of [this.#accounts, this.#users]) await windows.stop()
  }

  /** Counts one more request of an account, unless it has reached its limit. A promise if other nodes have to be asked. */
  take(accountId: string): RateVerdict | Promise<RateVerdict> {
    return take(this.#accounts.of(accountId), this.limitOf(accountId))
  }

  /**
   * Counts one more request of a user who is logged in, unless they have reached the limit. It takes nothing from the account: a
   * page that somebody looks at must not keep the account's programs from sending.
   */
  takeUser(userId: string): RateVerdict | Promise<RateVerdict> {
    return take(this.#users.of(userId), userLimit)
  }

  /** The plan that applies to an account, and its requests per minute. */
  limitOf(accountId: string): PlanLimit {
    const { plans, defaultPlan } = this.#settings
    const named = this.#services.accounts.accountFor(accountId)?.plan ?? defaultPlan
    const plan = Object.hasOwn(plans, named) ? named : defaultPlan
    return { plan, limit: plans[plan] ?? 0 }
  }
}

function take(window: LimitWindow, limit: PlanLimit): RateVerdict | Promise<RateVerdict> {
  const accepted = window.take(limit.limit)
  return typeof accepted === 'boolean' ? verdict(accepted, window, limit) : accepted.then((known) => verdict(known, window, limit))
}

const verdict = (accepted: boolean, window: LimitWindow, { plan, limit }: PlanLimit): RateVerdict => ({
  accepted,
  plan,
  limit,
  // What others have used a moment ago may not be known here.
  remaining: accepted ? window.remaining(limit) : 0,
  resetSeconds: Math.max(1, Math.ceil(window.untilNext(limit) / 1000)),
})
