import type { MetricsRow } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { periodsOf, type Steps } from './chart-period.ts'
import { TimeChart } from './time-chart.tsx'

/** Delivered by period, and below it, on a scale of its own, what was not. */
export const VolumeChart = ({ rows, steps }: { rows: readonly MetricsRow[]; steps: Steps }) => (
  <TimeChart
    heading={t.analytics.per[steps.granularity] ?? steps.granularity}
    file="volume"
    periods={periodsOf(rows, steps)}
    bands={[
      {
        kind: 'bars',
        series: [{ metric: 'delivered', name: t.status.delivered, tone: 'ok', values: rows.map(({ delivered = 0 }) => delivered) }],
      },
      {
        kind: 'bars',
        series: [
          {
            metric: 'not_delivered',
            name: t.overview.notDelivered,
            tone: 'bad',
            values: rows.map(({ bounced = 0, failed = 0 }) => bounced + failed),
          },
        ],
      },
    ]}
  />
)
