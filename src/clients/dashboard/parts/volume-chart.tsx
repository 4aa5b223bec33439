import type { MetricsRow } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { barsOf } from './chart-drawing.tsx'
import { periodsOf, type Steps } from './chart-period.ts'
import { TimeChart } from './time-chart.tsx'

/** Delivered by period, and below it, on a scale of its own, what was not. */
export function VolumeChart({ rows, steps }: { rows: readonly MetricsRow[]; steps: Steps }) {
  const bars = barsOf(rows)
  return (
    <TimeChart
      heading={t.analytics.per[steps.granularity] ?? steps.granularity}
      file="volume"
      periods={periodsOf(rows, steps)}
      bands={[
        bars('delivered', t.status.delivered, 'ok', ({ delivered = 0 }) => delivered),
        bars('not_delivered', t.overview.notDelivered, 'bad', ({ bounced = 0, failed = 0 }) => bounced + failed),
      ]}
    />
  )
}
