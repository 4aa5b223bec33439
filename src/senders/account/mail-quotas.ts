import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { ConflictError, type Row, type Statement, type Written } from '../../platform/store/database.ts'
import { limitLock } from '../../platform/store/limit-lock.ts'
import type { AccountPolicies } from './account-policies.ts'
import { mailQuota } from './account-policy.ts'
import { calendarOf, periods, type Period } from './quota-calendar.ts'

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
  /** `daily_quota_exceeded` or `monthly_quota_exceeded`, once the statements were refused. */
  refusal(cause: ConflictError): Promise<SternaError>
}

interface MailQuotaServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  policies: Pick<AccountPolicies, 'of'>
}

interface UsageRow extends Row {
  owner_id: string
  day: number
  day_recipients: number
  month: number
  month_recipients: number
}

/** Within what the log tells that a quota is nearly used up. */
const nearly = 0.8

/**
 * How many recipients accounts and domains may mail per day and per month. The count is a row for each, written in the same batch as the
 * mail and on the condition that the quota allows it: nothing is counted that was not accepted, and two who send at once cannot exceed it.
 */
export class MailQuotas {
  readonly #services: MailQuotaServices

  constructor(services: MailQuotaServices) {
    this.#services = services
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
    const [row] = await db.read<UsageRow>(
      'select owner_id, day, day_recipients, month, month_recipients from mail_usage where owner_id = :ownerId',
      { ownerId },
    )
    const now = calendarOf(clock.now())
    const quota = this.quotaOf(ownerId)
    const use = (period: Period): QuotaUse => ({
      limit: quota[period],
      used: !this.isCounted(ownerId) ? null : row && row[period] === now[period].number ? row[`${period}_recipients`] : 0,
      resetsAt: now[period].endsAt,
    })
    return { day: use('day'), month: use('month') }
  }

  /** What counts mail in the batch that writes it; null if nobody counts it. */
  count(mail: CountedMail): QuotaCount | null {
    const sum = [...mail.byDomain.values()].reduce((total, each) => total + each, 0)
    const all = [[mail.accountId, sum] as const, ...mail.byDomain]
    const counted = all.filter(([ownerId, recipients]) => recipients > 0 && this.isCounted(ownerId))
    if (counted.length === 0) return null
    const now = calendarOf(this.#services.clock.now())
    return {
      statements: counted.map(([ownerId, recipients]) => this.#countStatement(ownerId, recipients, now)),
      onWritten: (written) =>
        counted.forEach(([ownerId, recipients], place) => this.#tellIfNear(ownerId, recipients, written[place]?.rows[0])),
      refusal: (cause) => this.#refusal(counted, cause),
    }
  }

  #countStatement(ownerId: string, recipients: number, { day, month }: ReturnType<typeof calendarOf>): Statement {
    const quota = this.quotaOf(ownerId)
    // PostgreSQL would take it for a text in one place and for a number in the other.
    const recipientsGiven = 'cast(:recipients as bigint)'
    const dayUsed = 'case when mail_usage.day = excluded.day then mail_usage.day_recipients else 0 end + excluded.day_recipients'
    const monthUsed = 'case when mail_usage.month = excluded.month then mail_usage.month_recipients else 0 end + excluded.month_recipients'
    return {
      sql: `insert into mail_usage (owner_id, day, day_recipients, month, month_recipients)
            select :ownerId, :day, ${recipientsGiven}, :month, ${recipientsGiven}
             where ${recipientsGiven} <= :dayLimit and ${recipientsGiven} <= :monthLimit
            on conflict (owner_id) do update
              set day_recipients = ${dayUsed}, day = excluded.day, month_recipients = ${monthUsed}, month = excluded.month
              where ${dayUsed} <= :dayLimit and ${monthUsed} <= :monthLimit
            returning day_recipients, month_recipients`,
      params: {
        ownerId,
        day: day.number,
        month: month.number,
        recipients,
        dayLimit: quota.day ?? Number.MAX_SAFE_INTEGER,
        monthLimit: quota.month ?? Number.MAX_SAFE_INTEGER,
      },
      expect: 1,
      guard: 'quota',
      // Two groups that count the same owners in two orders would wait for each other for ever.
      locks: limitLock(`quota ${ownerId}`),
    }
  }

  /** Told once for each period: by whoever crosses the line. */
  #tellIfNear(ownerId: string, recipients: number, row: Row | undefined): void {
    const quota = this.quotaOf(ownerId)
    for (const period of periods) {
      const [limit, used] = [quota[period], Number(row?.[`${period}_recipients`] ?? 0)]
      if (limit === null || used < limit * nearly || used - recipients >= limit * nearly) continue
      const about = ownerId.startsWith('acc_') ? { accountId: ownerId } : { domainId: ownerId }
      this.#services.log.warn({ ...about, period, used, limit }, 'a mail quota is nearly used up')
    }
  }

  async #refusal(counted: readonly (readonly [ownerId: string, recipients: number])[], cause: ConflictError): Promise<SternaError> {
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
        return new SternaError(period === 'day' ? 'daily_quota_exceeded' : 'monthly_quota_exceeded', message, { retryAfter, cause })
      }
    }
    // A new period, or a higher quota, has come in between.
    return new SternaError('service_unavailable', 'The quota changed while the mail was taken. Try again.', { retryAfter: 1, cause })
  }
}

/** Forgets what an account or a domain has used. */
export const forgetUse = (ownerId: string): Statement => ({ sql: 'delete from mail_usage where owner_id = :ownerId', params: { ownerId } })
