import type { BaseServices } from '../../platform/base-services.ts'
import type { Gauges } from '../../platform/metrics/metrics-page.ts'
import type { Row } from '../../platform/store/database.ts'

interface FiguresRow extends Row {
  pending: number
  attempting: number
  due_at: number | null
  unread: number | null
}

/** Uses the partial indexes of unfinished deliveries. Takes differences of event numbers instead of counting events. */
const figures = `
  select pending, due_at, (select count(*) from webhook_delivery where owner is not null) as attempting,
         (select (select coalesce(max(seq), 0) from event) - position from cursor
           where name = 'webhook' and exists (select 1 from webhook where status = 'enabled')) as unread
    from (select count(*) as pending, min(next_attempt_at) as due_at from webhook_delivery where next_attempt_at is not null) as waiting`

/** How far webhook posts lag behind. */
export function webhookFigures({ db, clock, metrics }: Pick<BaseServices, 'db' | 'clock' | 'metrics'>): Gauges {
  return {
    part: 'webhooks',
    gauges: [...Object.values(metrics.webhookDeliveries), metrics.webhookOldestOverdue, metrics.webhookUnread],
    goodForMs: 10_000,
    async read() {
      const [row] = await db.slowRead<FiguresRow>(figures)
      if (!row) return
      metrics.webhookDeliveries.pending.set(row.pending)
      metrics.webhookDeliveries.attempting.set(row.attempting)
      metrics.webhookOldestOverdue.set(row.due_at === null ? 0 : Math.max(0, clock.now() - row.due_at) / 1000)
      metrics.webhookUnread.set(row.unread ?? 0)
    },
  }
}
