import { z } from 'zod'
import { otherValue } from '../../readers/analytics/known-values.ts'
import { countedMetrics, metrics, metricsOf, type Counts, type Metric } from '../../readers/analytics/metric.ts'
import { granularities } from '../../readers/analytics/period.ts'
import { dimensions, valueDimensions, type Dimension } from '../../readers/analytics/report.ts'
import { explanationOwners, ownerOf } from '../../readers/explanation/causes.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { textParameter } from '../operation/query.ts'
import { timeAnswer } from '../operation/resource.ts'
import { latencyOperation } from './analytics-latency-operations.ts'
import { linksOperation } from './analytics-link-operations.ts'
import { commonRowNames, namesOf, previousAnswer, readAnswer, reportQuery, wordsOf, type AnalyticsServices } from './analytics-query.ts'

const query = {
  ...reportQuery,
  tag: textParameter.meta({
    description: '`name=value`: counts only mail with this tag; `data` can then only be grouped by period and domain.',
  }),
  metrics: wordsOf(metrics).meta({ description: `Any of ${metrics.join(', ')}; default: all.` }),
  dimensions: wordsOf(dimensions).meta({
    description: `Any of ${dimensions.join(', ')}: what to group \`data\` by; one of ${valueDimensions.join(', ')} at a time. Default: none.`,
  }),
}

const values = Object.fromEntries(metrics.map((name) => [name, z.number().optional()])) as Record<Metric, z.ZodOptional<z.ZodNumber>>
const tooMany = `\`${otherValue}\` stands for all but the first 1,000 of a day (UTC).`

/** What a row is about, by the dimension it is grouped by. */
const rowNames = {
  ...commonRowNames,
  tag: { tag: z.string().optional().describe(`\`name=value\`. Mail with several tags counts for each of them. ${tooMany}`) },
  template: {
    template_id: z.string().optional().describe(`Mail without a template is not counted. ${tooMany}`),
    template_name: z.string().nullable().optional().describe('Null if the template has been deleted.'),
  },
  campaign: { campaign: z.string().optional().describe('The value of the tag named `campaign`.') },
  bounce_category: {
    bounce_category: z.string().optional().describe('The bounce category, as in `email.bounced`; only bounces are counted by it.'),
  },
  cause: {
    cause: z.string().optional().describe('Why mail did not arrive: the `code` of the `explanation`; only bounces are counted by it.'),
    owner: z.enum(explanationOwners).optional().describe('Who can do something about this cause.'),
  },
} satisfies Record<Dimension, z.ZodRawShape>

const totalsAnswer = z.object(values).meta({ id: 'MetricsTotals' })

export const metricsAnswer = z
  .object({
    object: z.literal('metrics'),
    start_date: timeAnswer,
    end_date: timeAnswer,
    granularity: z.enum(granularities),
    metrics: z.array(z.enum(metrics)),
    dimensions: z.array(z.enum(dimensions)),
    totals: totalsAnswer,
    previous: previousAnswer('MetricsBefore', totalsAnswer),
    data: z
      .array(
        z
          .object({
            ...rowNames.period,
            ...rowNames.domain,
            ...rowNames.tag,
            ...rowNames.template,
            ...rowNames.provider,
            ...rowNames.campaign,
            ...rowNames.bounce_category,
            ...rowNames.cause,
            ...values,
          })
          .meta({ id: 'MetricsRow' }),
      )
      .optional()
      .describe('Present if dimensions are requested.'),
  })
  .meta({ id: 'Metrics' })

const at = operationsAt({ path: '/api/analytics', tag: 'Analytics', permission: 'read_access' })

/** `/api/analytics`. Its second path must stand before `/api/emails/{id}`. */
export const analyticsOperations = (services: AnalyticsServices): Operation[] => [
  at.get('analytics.get', '', 'Count what happened to mail', {
    aliases: [{ id: 'emails.get_metrics', path: '/api/emails/metrics' }],
    description:
      'Counts live mail by recipient, at the time when something happened to it, to the quarter of an hour. ' +
      'Mail sent with sandbox keys is not counted. `opened` and `clicked` count every hit; `bot_opened` and `bot_clicked` count those ' +
      'that came from machines, even if that was recognised later. `unique_opened` counts the recipients with a person who opened or ' +
      'clicked, `unique_clicked` those with a person who clicked. Rates leave out machines.',
    query,
    csv: ({ dimensions: by, metrics: wanted, totals, data }: z.input<typeof metricsAnswer>) => ({
      name: 'analytics',
      columns: [...by.flatMap((dimension) => Object.keys(rowNames[dimension])), ...wanted],
      rows: data ?? [totals],
    }),
    answer: ['The counts.', metricsAnswer],
    handle: async ({ caller, query: asked }) => {
      const { accountId } = caller
      const by = asked.dimensions ?? []
      const wanted = asked.metrics ?? [...metrics]
      const { answer, rows } = await readAnswer(services, rollup, { accountId, asked, by }, (counts) => chosen(counts, wanted))
      const templates = await namesOf(services.db, 'template', by.includes('template') ? accountId : null)
      const data = rows.map(({ about, value, counts }) => ({ ...about, ...valueNames(value, by, templates), ...chosen(counts, wanted) }))
      return { object: 'metrics' as const, ...answer, metrics: wanted, ...(by.length === 0 ? {} : { data }) }
    },
  }),
  latencyOperation(services),
  linksOperation(services),
]

const rollup = { name: 'rollup', columns: countedMetrics } as const
function chosen(counts: readonly number[], wanted: readonly Metric[]): Partial<Record<Metric, number>> {
  const all = metricsOf(Object.fromEntries(countedMetrics.map((name, place) => [name, counts[place] ?? 0])) as Counts)
  return Object.fromEntries(wanted.map((name) => [name, all[name]]))
}

/** What a row is about in a dimension with values of its own. */
function valueNames(given: string | null, by: readonly Dimension[], templates: ReadonlyMap<string, string>) {
  const value = given ?? ''
  switch (valueDimensions.find((each) => by.includes(each))) {
    case 'template':
      return { template_id: value, template_name: templates.get(value) ?? null }
    case 'provider':
      return { provider: value === '' ? null : value }
    case 'cause':
      return { cause: value, owner: ownerOf(value) }
    case 'tag':
      return { tag: value }
    case 'campaign':
      return { campaign: value }
    case 'bounce_category':
      return { bounce_category: value }
    default:
      return {}
  }
}
