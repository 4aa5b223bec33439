import { z } from 'zod'
import { latencyColumns, percentile } from '../../readers/analytics/latency.ts'
import { granularities } from '../../readers/analytics/period.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { timeAnswer } from '../operation/resource.ts'
import { commonRowNames, previousAnswer, readAnswer, reportQuery, wordsOf, type AnalyticsServices } from './analytics-query.ts'

const dimensions = ['period', 'domain', 'provider'] as const

const milliseconds = z.int().nullable().describe('ms; null if nothing was delivered.')
const times = { delivered: z.int(), p50_ms: milliseconds, p90_ms: milliseconds, p95_ms: milliseconds, p99_ms: milliseconds }

const totalsAnswer = z.object(times).meta({ id: 'LatencyTotals' })

export const latencyAnswer = z
  .object({
    object: z.literal('latency'),
    start_date: timeAnswer,
    end_date: timeAnswer,
    granularity: z.enum(granularities),
    dimensions: z.array(z.enum(dimensions)),
    totals: totalsAnswer,
    previous: previousAnswer('LatencyBefore', totalsAnswer),
    data: z.array(
      z
        .object({
          ...commonRowNames.period,
          ...commonRowNames.domain,
          ...commonRowNames.provider,
          ...times,
        })
        .meta({ id: 'LatencyRow' }),
    ),
  })
  .meta({ id: 'Latency' })

const query = {
  ...reportQuery,
  dimensions: wordsOf(dimensions).meta({
    description: `Any of ${dimensions.join(', ')}: what to group \`data\` by; default: provider.`,
  }),
}

const latencies = { name: 'rollup_latency', columns: latencyColumns } as const

const timesIn = (counts: readonly number[]) => ({
  delivered: counts.reduce((sum, count) => sum + count, 0),
  p50_ms: percentile(counts, 0.5),
  p90_ms: percentile(counts, 0.9),
  p95_ms: percentile(counts, 0.95),
  p99_ms: percentile(counts, 0.99),
})

const at = operationsAt({ path: '/api/analytics/latency', tag: 'Analytics', permission: 'read_access' })

/** `/api/analytics/latency` */
export const latencyOperation = (services: AnalyticsServices): Operation =>
  at.get('analytics.get_latency', '', 'Read delivery times', {
    description:
      "How long live mail took from acceptance, or from its scheduled time, until the recipient's server accepted it, grouped by the " +
      'provider of that server. Percentiles come from a histogram whose buckets are at most 28 % wide, so their error is smaller than ' +
      'that.',
    query,
    csv: ({ dimensions: by, data }: z.input<typeof latencyAnswer>) => ({
      name: 'latency',
      columns: [...by.flatMap((dimension) => Object.keys(commonRowNames[dimension])), ...Object.keys(times)],
      rows: data,
    }),
    answer: ['The delivery times.', latencyAnswer],
    handle: async ({ caller, query: asked }) => {
      const by = asked.dimensions ?? (['provider'] as const)
      const { answer, rows } = await readAnswer(services, latencies, { accountId: caller.accountId, asked, by }, timesIn)
      const data = rows.map(({ about, value, counts }) => ({
        ...about,
        ...(value === null ? {} : { provider: value === '' ? null : value }),
        ...timesIn(counts),
      }))
      return { object: 'latency' as const, ...answer, data }
    },
  })
