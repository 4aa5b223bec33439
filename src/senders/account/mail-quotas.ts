import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { ConflictError, type Row, type Statement, type Written } from '../../platform/store/database.ts'
import type { Nodes } from '../../platform/store/nodes.ts'
import type { AccountPolicies } from './account-policies.ts'
import { mailQuota } from './account-policy.ts'
import { calendarOf, periods, type Period } from './quota-calendar.ts'
import { countStatements, selectUse, type QuotaSource, type QuotaStep } from './quota-statements.ts'

/** The limits in force; null: none. */
export type Quota = Record<Period, number | null>

/** How much of a quota is used. */
export interface QuotaUse {
  limit: number | null
  /** Null if nothing is counted, because there is a quota neither for the day nor for the month. */
  used: number | null
  /** When the count begins anew, epoch ms. */
  resetsAt: number
}

/** Mail that is about to be accepted. */
export interface CountedMail {
  accountId: string
  /** Recipients who will get it, by the id of the domain that it is from. */
  byDomain: ReadonlyMap<string, number>
}

/** How mail is counted. */
export interface QuotaCount {
  /** They count it, and keep it from being written if a quota does not allow it. */
  statements: Statement[]
  /** Call it with what came of the statements. */
  onWritten(written: Written[]): void
  /**
   * From where to count once the statements were refused.
   * @throws SternaError `daily_quota_exceeded` or `monthly_quota_exceeded`
   */
  next(cause: ConflictError): Promise<QuotaSource>
}

interface MailQuotaServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  policies: Pick<AccountPolicies, 'of'>
}

interface UsageRow extends Row {
  day: number
  day_recipients: number
  month: number
  month_recipients: number
}

/** From which part on the log tells that a quota is nearly used up. */
const nearly = 0.8
/** How far the clocks of two nodes may be apart, ms. */
const aheadMs = 60_000

/**
 * How many recipients accounts and domains may mail per day and per month. The count is a row for each, written in the same batch as the
 * mail and on the condition that the quota allows it: nothing is counted that was not accepted, and two who send at once cannot exceed it.
 * Where there are several nodes, each counts ahead a share of what is left, and uses it up without waiting for the others.
 */
export class MailQuotas {
  readonly #services: MailQuotaServices
  #member: Pick<Nodes, 'self' | 'live'> = { self: '', live: () => [''] }

  constructor(services: MailQuotaServices) {
    this.#services = services
  }

  /** Shares are taken for this node from then on; before, it counts as the only one. */
  join(nodes: Pick<Nodes, 'self' | 'live'>): void {
    this.#member = nodes
  }

  /** The quota in force; only accounts have a plan. */
  quotaOf(ownerId: string): Quota {
    const { day, month } = this.#services.policies.of(mailQuota, ownerId)
    return { day: day === 'unlimited' ? null : day, month: month === 'unlimited' ? null : month }
  }

  /** Whoever has no quota is not counted, so that mail costs nothing where there are none. */
  isCounted(ownerId: string): boolean {
    const { day, month } = this.quotaOf(ownerId)
    return day !== null || month !== null
  }

  /** How much an account or a domain has used of its quota. */
  async useOf(ownerId: string): Promise<Record<Period, QuotaUse>> {
    const { db, clock } = this.#services
    const [row] = await db.read<UsageRow>(selectUse, { ownerId })
    const later = calendarOf(clock.now() + aheadMs)
    // Another node may be in the next day already.
    const now = row?.day === later.day.number ? later : calendarOf(clock.now())
    const quota = this.quotaOf(ownerId)
    const use = (period: Period): QuotaUse => ({
      limit: quota[period],
      used: !this.isCounted(ownerId) ? null : row && row[period] === now[period].number ? row[`${period}_recipients`] : 0,
      resetsAt: now[period].endsAt,
    })
    return { day: use('day'), month: use('month') }
  }

  /** What counts mail in the batch that writes it; null if nobody counts it. @param from what `next` has said, once it was refused */
  count(mail: CountedMail, from?: QuotaSource): QuotaCount | null {
    const sum = [...mail.byDomain.values()].reduce((total, each) => total + each, 0)
    const all = [[mail.accountId, sum] as const, ...mail.byDomain]
    const counted = all.filter(([ownerId, recipients]) => recipients > 0 && this.isCounted(ownerId))
    if (counted.length === 0) return null
    const nodes = this.#member.live().length
    const source = from ?? (nodes === 1 ? 'pool' : 'share')
    const statements = counted.map(([ownerId, recipients]) => countStatements(this.#stepOf(ownerId, recipients), source, nodes))
    return {
      statements: statements.flat(),
      onWritten: (written) => {
        const rows = written.map(({ rows: [row] }) => row)
        for (const [place, [ownerId, recipients]] of counted.entries()) {
          this.#tellIfNear(
            ownerId,
            recipients,
            rows.splice(0, statements[place]?.length).filter((row) => row !== undefined),
          )
        }
      },
      next: async (cause) => {
        await this.#refuseIfExceeded(counted, cause)
        if (source !== 'all') return source === 'share' ? 'pool' : 'all'
        // A new period, or a higher quota, has come in between.
        throw new SternaError('service_unavailable', 'The quota changed while the mail was taken. Try again.', { retryAfter: 1, cause })
      },
    }
  }

  #stepOf(ownerId: string, recipients: number): QuotaStep {
    const now = this.#services.clock.now()
    const { day, month } = calendarOf(now)
    const quota = this.quotaOf(ownerId)
    return {
      ownerId,
      recipients,
      node: this.#member.self,
      day: day.number,
      month: month.number,
      latestDay: calendarOf(now + aheadMs).day.number,
      dayLimit: quota.day ?? Number.MAX_SAFE_INTEGER,
      monthLimit: quota.month ?? Number.MAX_SAFE_INTEGER,
    }
  }

  /** Told by whoever crosses the line: once for each period by a node alone. @param counted what was used then, and with a new share */
  #tellIfNear(ownerId: string, recipients: number, counted: Row[]): void {
    const quota = this.quotaOf(ownerId)
    for (const period of periods) {
      const usedIn = (row: Row | undefined): number => Number(row?.[`${period}_recipients`] ?? 0)
      const [limit, before, used] = [quota[period], usedIn(counted[0]) - recipients, usedIn(counted.at(-1))]
      if (limit === null || used < limit * nearly || before >= limit * nearly) continue
      const about = ownerId.startsWith('acc_') ? { accountId: ownerId } : { domainId: ownerId }
      this.#services.log.warn({ ...about, period, used, limit }, 'a mail quota is nearly used up')
    }
  }

  async #refuseIfExceeded(counted: readonly (readonly [ownerId: string, recipients: number])[], cause: ConflictError): Promise<void> {
    for (const [ownerId, recipients] of counted) {
      const use = await this.useOf(ownerId)
      // The longer period first: the shorter one would promise too much.
      for (const period of periods.toReversed()) {
        const { limit, used, resetsAt } = use[period]
        if (limit === null || used === null || used + recipients <= limit) continue
        const owner = ownerId.startsWith('acc_') ? 'account' : 'domain'
        const word = recipients === 1 ? 'recipient' : 'recipients'
        const message =
          `This ${owner} may mail ${limit} recipients a ${period} and has mailed ${used}, so ${recipients} more ${word} cannot be taken. ` +
          `The count begins anew at ${isoTime(resetsAt)}.`
        const retryAfter = Math.max(1, Math.ceil((resetsAt - this.#services.clock.now()) / 1000))
        throw new SternaError(period === 'day' ? 'daily_quota_exceeded' : 'monthly_quota_exceeded', message, { retryAfter, cause })
      }
    }
  }
}
