import { z } from 'zod'
import { otherValue } from '../../readers/analytics/known-values.ts'
import { countedMetrics, metrics, metricsOf, type Counts, type Metric } from '../../readers/analytics/metric.ts'
import { granularities } from '../../readers/analytics/period.ts'
import { dimensions, readReport, valueDimensions, type Dimension, type ReportRow } from '../../readers/analytics/report.ts'
import { explanationOwners, ownerOf } from '../../readers/explanation/causes.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { textParameter } from '../operation/query.ts'
import { timeAnswer } from '../operation/resource.ts'
import { latencyOperation } from './analytics-latency-operations.ts'
import { linksOperation } from './analytics-link-operations.ts'
import {
  namesOf,
  previousAnswer,
  previousTotals,
  reportQuery,
  reportRequest,
  timesOf,
  tooManyRows,
  wordsOf,
  type AnalyticsServices,
} from './analytics-query.ts'

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
  period: { period: z.string().optional().describe('The first day of the period, or the time at which the hour began.') },
  domain: {
    domain_id: z.string().nullable().optional().describe('Null for mail without a domain.'),
    domain_name: z.string().nullable().optional().describe('Null if the domain has been removed.'),
  },
  tag: { tag: z.string().optional().describe(`\`name=value\`. Mail with several tags counts for each of them. ${tooMany}`) },
  template: {
    template_id: z.string().optional().describe(`Mail without a template is not counted. ${tooMany}`),
    template_name: z.string().nullable().optional().describe('Null if the template has been deleted.'),
  },
  provider: {
    provider: z
      .string()
      .nullable()
      .optional()
      .describe(
        'Who runs the server that accepted or refused the mail, by the name of its MX host: google, microsoft, yahoo, apple, …; other. ' +
          'Null if no server was reached, or this is not known.',
      ),
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
      const now = services.clock.now()
      const by = asked.dimensions ?? []
      const request = reportRequest(accountId, asked, { dimensions: by, now })
      await services.rollup.catchUp()
      const report = await readReport(services.db, rollup, request)
      if (!report) throw tooManyRows()
      const wanted = asked.metrics ?? [...metrics]
      const previous = asked.compare && (await previousTotals(services.db, rollup, request, (counts) => chosen(counts, wanted)))
      const domains = by.includes('domain') ? await namesOf(services.db, 'domain', accountId) : none
      const templates = by.includes('template') ? await namesOf(services.db, 'template', accountId) : none
      const data = report.rows.map((row) => ({ ...rowName(row, by, { domains, templates }), ...chosen(row.counts, wanted) }))
      return {
        object: 'metrics' as const,
        ...timesOf(request, asked, now),
        granularity: request.granularity,
        metrics: wanted,
        dimensions: [...by],
        totals: chosen(report.totals, wanted),
        ...previous,
        ...(by.length === 0 ? {} : { data }),
      }
    },
  }),
  latencyOperation(services),
  linksOperation(services),
]

const rollup = { name: 'rollup', columns: countedMetrics } as const
const none: ReadonlyMap<string, string> = new Map()

function chosen(counts: readonly number[], wanted: readonly Metric[]): Partial<Record<Metric, number>> {
  const all = metricsOf(Object.fromEntries(countedMetrics.map((name, place) => [name, counts[place] ?? 0])) as Counts)
  return Object.fromEntries(wanted.map((name) => [name, all[name]]))
}

interface Names {
  domains: ReadonlyMap<string, string>
  templates: ReadonlyMap<string, string>
}

/** What a row is about. */
function rowName({ period, domainId, value }: ReportRow, by: readonly Dimension[], { domains, templates }: Names) {
  const dimension = valueDimensions.find((each) => by.includes(each))
  return {
    ...(period === null ? {} : { period }),
    ...(domainId === null ? {} : { domain_id: domainId === '' ? null : domainId, domain_name: domains.get(domainId) ?? null }),
    ...(dimension === 'template' ? { template_id: value ?? '', template_name: templates.get(value ?? '') ?? null } : {}),
    ...(dimension === 'provider' ? { provider: value === '' ? null : value } : {}),
    ...(dimension === 'cause' ? { cause: value ?? '', owner: ownerOf(value ?? '') } : {}),
    ...(dimension === 'tag' || dimension === 'campaign' || dimension === 'bounce_category' ? { [dimension]: value ?? '' } : {}),
  }
}
