import type { BaseServices } from '../../platform/base-services.ts'
import { lastUsed } from '../../platform/last-used.ts'
import type { Accounts } from '../../senders/account/accounts.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import { SlidingWindow } from '../../platform/sliding-window.ts'
import { StorageFullError, type Statement } from '../../platform/store/database.ts'
import { deleteWindow, everyWindow, saveWindow, timesOf, type WindowRow } from './rate-limit-store.ts'

interface RateLimitServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
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

interface AccountWindow {
  window: SlidingWindow
  /** False if the same is already on disk. */
  changed: boolean
}

/** Requests a minute of each user who is logged in: more than a person with several open tabs makes. */
const userRequests = 600
/** Users that are remembered; beyond that the least recently active one starts afresh. */
const maxUsers = 10_000

/** How often what has changed is saved, ms: so much is forgotten after a crash. */
const saveEveryMs = 1_000

/**
 * Counts the requests of each account against its plan: never more than the plan allows in any 60 seconds. Memory holds a window for
 * each account that was active in the last minute; the disk holds a row for each, written about once a second and on shutdown.
 */
export class RateLimit {
  readonly #services: RateLimitServices
  readonly #settings: RateLimitSettings
  readonly #byAccount = new Map<string, AccountWindow>()
  readonly #byUser = lastUsed<SlidingWindow>(maxUsers)
  #timer: NodeJS.Timeout | undefined
  #saving = Promise.resolve()

  constructor(services: RateLimitServices, settings: RateLimitSettings) {
    this.#services = services
    this.#settings = settings
  }

  /** Loads what the previous process saved, and saves from then on. */
  async start(): Promise<void> {
    const { clock, db } = this.#services
    // In this order: whoever is held up between the two counts requests for longer, and nobody gains one.
    const offset = clock.now() - clock.steady()
    const now = clock.steady()
    for (const row of await db.read<WindowRow>(everyWindow)) {
      const window = new SlidingWindow(minuteMs)
      // If the clock was set back in the meantime, times that seem to be in the future count as now.
      for (const at of timesOf(row)) window.take(Math.min(at - offset, now), Infinity)
      this.#byAccount.set(row.account_id, { window, changed: false })
    }
    this.#timer = setInterval(() => void this.#saveNext(), saveEveryMs).unref()
  }

  /** Counts one more request of an account, unless it has reached its limit. */
  take(accountId: string): RateVerdict {
    const entry = this.#byAccount.get(accountId) ?? this.#add(accountId)
    const verdict = this.#verdict(entry.window, this.limitOf(accountId))
    if (verdict.accepted) entry.changed = true
    return verdict
  }

  /**
   * Counts one more request of a user who is logged in, unless they have reached the limit. It takes nothing from the account: a
   * page that somebody looks at must not keep the account's programs from sending. Nothing of it is saved.
   */
  takeUser(userId: string): RateVerdict {
    const window = this.#byUser.get(userId) ?? new SlidingWindow(minuteMs)
    this.#byUser.set(userId, window)
    return this.#verdict(window, { plan: 'user', limit: userRequests })
  }

  /** The plan that applies to an account, and its requests per minute. */
  limitOf(accountId: string): { plan: string; limit: number } {
    const { plans, defaultPlan } = this.#settings
    const named = this.#services.accounts.accountFor(accountId)?.plan ?? defaultPlan
    const plan = Object.hasOwn(plans, named) ? named : defaultPlan
    return { plan, limit: plans[plan] ?? 0 }
  }

  /** Writes the windows that have changed, and forgets empty ones. */
  async save(): Promise<void> {
    const { clock, db } = this.#services
    const now = clock.steady()
    const offset = clock.now() - now
    const batch: Statement[] = []
    const written: AccountWindow[] = []
    for (const [accountId, entry] of this.#byAccount) {
      if (entry.window.countAt(now) === 0) {
        this.#byAccount.delete(accountId)
        batch.push(deleteWindow(accountId))
      } else if (entry.changed) {
        // Times are known to the millisecond: rounded so that nobody gains a request through a restart.
        batch.push(
          saveWindow(
            accountId,
            entry.window.times().map((at) => Math.ceil(at + offset) + 1),
          ),
        )
        entry.changed = false
        written.push(entry)
      }
    }
    if (batch.length === 0) return
    try {
      await db.write(batch, { mayBatch: true })
    } catch (error) {
      for (const entry of written) entry.changed = true
      throw error
    }
  }

  /** Saves for the last time. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#saving
    await this.save()
  }

  #verdict(window: SlidingWindow, { plan, limit }: { plan: string; limit: number }): RateVerdict {
    const now = this.#services.clock.steady()
    return {
      accepted: window.take(now, limit),
      plan,
      limit,
      remaining: Math.max(0, limit - window.countAt(now)),
      resetSeconds: Math.max(1, Math.ceil(window.untilNext(now, limit) / 1000)),
    }
  }

  #add(accountId: string): AccountWindow {
    const entry = { window: new SlidingWindow(minuteMs), changed: false }
    this.#byAccount.set(accountId, entry)
    return entry
  }

  /** One save after the other, however long the disk takes. */
  #saveNext(): Promise<void> {
    this.#saving = this.#saving
      .then(() => this.save())
      .catch((error: unknown) => {
        // Others report a full disk; the save is retried in a second.
        if (!(error instanceof StorageFullError)) this.#services.log.error({ error }, 'the requests of the last minute could not be saved')
      })
    return this.#saving
  }
}
