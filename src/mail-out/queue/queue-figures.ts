import type { BaseServices } from '../../platform/base-services.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import type { Gauges } from '../../platform/metrics/metrics-page.ts'
import { overdueSteps } from '../../platform/metrics/metric-table.ts'
import type { Row } from '../../platform/store/database.ts'

interface QueueFiguresServices extends Pick<BaseServices, 'db' | 'clock' | 'metrics'> {}

interface UntakenRow extends Row {
  waiting: number
  due: number
  overdue_60: number
  overdue_600: number
  overdue_3600: number
  overdue_21600: number
}

/** All from the index recipient_due, whose entries take about 60 bytes each. */
const untaken = `
  select count(*) as waiting, count(case when due_at <= :now then 1 end) as due,
         count(case when due_at <= :now - 60000 then 1 end) as overdue_60,
         count(case when due_at <= :now - 600000 then 1 end) as overdue_600,
         count(case when due_at <= :now - 3600000 then 1 end) as overdue_3600,
         count(case when due_at <= :now - 21600000 then 1 end) as overdue_21600
    from recipient where due_at is not null and owner is null and held = 0`

/** From the indexes recipient_owned and recipient_held. */
const inFlight = 'select count(*) as recipients from recipient where owner is not null and due_at is not null'
const held = 'select count(*) as recipients from recipient where held > 0 and owner is null and due_at is not null'

/** From the index recipient_state, account by account, so that final recipients are skipped. */
const deferred = `
  select (select count(*) from recipient
           where account_id = sender.account_id and state = 'deferred' and state not in ('queued', 'delivered')) as recipients
    from (select id as account_id from account union all select '${systemAccountId}' as account_id) as sender`

/** The mail that waits. The reader thread counts it, in a tenth of a second for a million. */
export function queueFigures({ db, clock, metrics }: QueueFiguresServices): Gauges {
  const counted = async (sql: string): Promise<number> => {
    const rows = await db.slowRead<{ recipients: number }>(sql)
    return rows.reduce((sum, { recipients }) => sum + recipients, 0)
  }
  return {
    part: 'queue',
    gauges: [...Object.values(metrics.queued), ...Object.values(metrics.overdue), metrics.deferred],
    goodForMs: 10_000,
    async read() {
      const [row] = await db.slowRead<UntakenRow>(untaken, { now: clock.now() })
      if (!row) return
      metrics.queued.due.set(row.due)
      metrics.queued.waiting.set(row.waiting - row.due)
      for (const seconds of overdueSteps) metrics.overdue[seconds].set(row[`overdue_${seconds}`])
      metrics.queued.in_hand.set(await counted(inFlight))
      metrics.queued.held.set(await counted(held))
      metrics.deferred.set(await counted(deferred))
    },
  }
}
