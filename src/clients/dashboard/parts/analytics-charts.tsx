import { useApi, useRows } from '../api/cache.ts'
import type { Domain, Latency, Metrics } from '../api/types.ts'
import { duration, percent } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { barsOf } from './chart-drawing.tsx'
import { periodsOf, type Steps } from './chart-period.ts'
import { TimeChart } from './time-chart.tsx'

const [millisecond, second, minute, hour] = [1, 1_000, 60_000, 3_600_000]
/** Steps of a scale of times that read well, ms. */
const timeSteps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((count) => count * millisecond),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 4, 8, 12, 24].map((count) => count * hour),
]
const timeStep = (least: number): number => timeSteps.find((step) => step >= least) ?? Math.ceil(least / (24 * hour)) * 24 * hour

interface Section {
  metrics: Metrics
  steps: Steps
}

/** Time to deliver: median, and within which 95 % came. */
export function Latencies({ path, steps }: { path: string; steps: Steps }) {
  const latency = useApi<Latency>(path)
  return (
    <Answer of={latency}>
      {({ data }) => (
        <TimeChart
          heading={t.overview.latency}
          file="latency"
          periods={periodsOf(data, steps)}
          bands={[
            {
              kind: 'lines',
              inWords: duration,
              step: timeStep,
              series: [
                { metric: 'p50_ms', name: t.overview.median, tone: 'ok', values: data.map((row) => row.p50_ms) },
                { metric: 'p95_ms', name: t.analytics.within95, tone: 'wait', dashed: true, values: data.map((row) => row.p95_ms) },
              ],
            },
          ]}
        />
      )}
    </Answer>
  )
}

/** Opens and clicks, where they are asked for or were seen. */
export function Engagement({ metrics: { totals, data = [] }, steps, domainId }: Section & { domainId: string }) {
  const isTracked = useRows<Domain>('/api/domains').some(
    ({ id, open_tracking: opens, click_tracking: clicks }) => (domainId === '' || domainId === id) && (opens || clicks),
  )
  const { unique_opened: opened = 0, bot_opened: botOpened = 0, bot_clicked: botClicked = 0 } = totals
  const bars = barsOf(data)
  if (!isTracked && opened + botOpened + botClicked === 0) return null
  return (
    <TimeChart
      heading={t.analytics.engagement}
      text={t.analytics.engagementText(percent(totals.open_rate ?? 0), percent(totals.click_rate ?? 0), botOpened + botClicked)}
      file="engagement"
      periods={periodsOf(data, steps)}
      bands={[
        bars('unique_opened', t.analytics.opened, 'ok', (row) => row.unique_opened ?? 0),
        bars('unique_clicked', t.analytics.clicked, 'ok', (row) => row.unique_clicked ?? 0),
        bars('by_machines', t.analytics.machines, 'wait', (row) => (row.bot_opened ?? 0) + (row.bot_clicked ?? 0)),
      ]}
    />
  )
}

/** Complaints as a share of what was delivered, with what providers take. */
export const Complaints = ({ metrics: { totals, data = [] }, steps }: Section) => (
  <TimeChart
    heading={t.analytics.complaints}
    text={t.analytics.complaintsText(totals.complained ?? 0, percent(totals.complaint_rate ?? 0))}
    file="complaints"
    periods={periodsOf(data, steps)}
    bands={[
      {
        kind: 'lines',
        inWords: percent,
        step: (least) => Math.ceil(Math.max(1, least * 1_000 - 1e-9)) / 1_000,
        limits: [
          { value: 0.001, name: t.analytics.careful },
          { value: 0.003, name: t.analytics.harmful },
        ],
        series: [
          {
            metric: 'complaint_rate',
            name: t.overview.complained,
            tone: 'bad',
            values: data.map((row) => (row.delivered ? (row.complaint_rate ?? 0) : null)),
          },
        ],
      },
    ]}
  />
)
