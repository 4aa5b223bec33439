import type { Gauges } from '../../platform/metrics/metrics-page.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { Database } from '../../platform/store/database.ts'

/** Returned mail that is not settled yet, counted with a partial index. */
export const returnedMailFigures = ({ db, metrics }: { db: Pick<Database, 'slowRead'>; metrics: Metrics }): Gauges => ({
  part: 'reports',
  gauges: [metrics.reportsWaiting],
  goodForMs: 10_000,
  async read() {
    const [row] = await db.slowRead<{ waiting: number }>("select count(*) as waiting from returned_mail where state = 'received'")
    metrics.reportsWaiting.set(row?.waiting ?? 0)
  },
})
