import { z } from 'zod'
import { TimeZone } from '../../analytics/local-time.ts'
import { metrics, metricsOf } from '../../analytics/metric.ts'
import type { Counts, Metric } from '../../analytics/metric.ts'
import { dayMs, granularities, mostPeriods } from '../../analytics/period.ts'
import { dimensions, mostRows, readReport } from '../../analytics/report.ts'
import type { ReportRequest, ReportRow } from '../../analytics/report.ts'
import type { Rollup } from '../../analytics/rollup.ts'
import type { Clock } from '../../clock.ts'
import { SternaError } from '../../errors.ts'
import { isoTime, parseIsoTime } from '../../iso-time.ts'
import type { Database } from '../../store/database.ts'
import { operation } from '../operation.ts'
import type { Operation } from '../operation.ts'
import { choiceParameter, listParameter, textParameter } from '../query.ts'
import { timeAnswer } from '../time-field.ts'

export interface AnalyticsParts {
  db: Database
  clock: Clock
  rollup: Pick<Rollup, 'catchUp'>
}

/** Days in a report where no beginning is given, the last one included. */
const standardDays = 7

const wordsOf = <const T extends readonly string[]>(words: T) =>
  listParameter(words.length).transform((given, ctx) => {
    const unknown = given.find((word) => !words.includes(word))
    if (unknown === undefined) return words.filter((word) => given.includes(word)) as T[number][]
    ctx.addIssue(`has "${unknown.slice(0, 50)}"; it may have ${words.join(', ')}`)
    return z.NEVER
  })

const timeZone = textParameter
  .transform((name, ctx) => {
    try {
      return new TimeZone(name)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      ctx.addIssue('must be a time zone such as Europe/Berlin')
      return z.NEVER
    }
  })
  .meta({ description: 'Where days, weeks and months begin: a name of the IANA database; UTC if not given.' })

/** A day or a moment; a day means all of it, by the clocks of the time zone. */
const dayOrTime = textParameter.transform((text, ctx) => {
  const at = parseIsoTime(text)
  if (at !== null) return { at, isDay: text.length === 10 }
  ctx.addIssue('must be a time such as 2026-11-21T06:00:00Z, or a date')
  return z.NEVER
})

const query = {
  start_date: dayOrTime.meta({ description: 'A time or a date; six days before the end if not given.' }),
  end_date: dayOrTime.meta({ description: 'A time, or a date that is included; now if not given.' }),
  granularity: choiceParameter(granularities).meta({ description: 'The length of a period; daily if not given.' }),
  timezone: timeZone,
  metrics: wordsOf(metrics).meta({ description: `Some of ${metrics.join(', ')}; all if not given.` }),
  dimensions: wordsOf(dimensions).meta({ description: `Some of ${dimensions.join(', ')}: what \`data\` is broken down by. None if not given.` }),
  domain_id: listParameter(100).meta({ description: 'Up to 100 ids of domains: counts their mail only.' }),
}

const values = Object.fromEntries(metrics.map((name) => [name, z.number().optional()])) as Record<Metric, z.ZodOptional<z.ZodNumber>>

const metricsAnswer = z
  .object({
    object: z.literal('metrics'),
    start_date: timeAnswer,
    end_date: timeAnswer,
    granularity: z.enum(granularities),
    metrics: z.array(z.enum(metrics)),
    dimensions: z.array(z.enum(dimensions)),
    totals: z.object(values).meta({ id: 'MetricsTotals' }),
    data: z
      .array(
        z
          .object({
            period: z.string().optional().describe('The first day of the period, or the moment at which the hour began.'),
            domain_id: z.string().nullable().optional().describe('Null for mail of no domain.'),
            domain_name: z.string().nullable().optional().describe('Null once the domain was removed.'),
            tag: z.string().optional().describe('`name=value`. Mail with several tags counts at each of them.'),
            ...values,
          })
          .meta({ id: 'MetricsRow' }),
      )
      .optional()
      .describe('There if dimensions are asked for.'),
  })
  .meta({ id: 'Metrics' })

/** `/api/analytics`. Its second path must stand before `/api/emails/{id}`. */
export const analyticsOperations = (parts: AnalyticsParts): Operation[] => [
  operation(
    {
      id: 'analytics.read',
      method: 'GET',
      path: '/api/analytics',
      aliases: ['/api/emails/metrics'],
      tag: 'Analytics',
      summary: 'Count what became of mail',
      description:
        'Live mail, by recipient, at the time at which something happened to it, to the quarter of an hour. ' +
        'What sandbox keys send is not counted. ' +
        'Rates and `unique_…` leave out opens and clicks by machines.',
      permission: 'read_access',
      query,
      answers: [{ status: 200, description: 'The counts.', schema: metricsAnswer }],
      refuses: ['invalid_parameter'],
    },
    async (ctx, { query: asked }) => {
      const { accountId } = ctx.state.submitter
      const zone = asked.timezone ?? new TimeZone('UTC')
      const now = parts.clock.now()
      const request: ReportRequest = {
        accountId,
        ...rangeOf(asked, zone, now),
        granularity: asked.granularity ?? 'daily',
        timeZone: zone,
        dimensions: asked.dimensions ?? [],
        domainIds: asked.domain_id,
      }
      checkSize(request)
      await parts.rollup.catchUp()
      const report = await readReport(parts.db, request)
      if (!report) throw new SternaError('invalid_parameter', `The answer would have more than ${mostRows} rows. Ask for a shorter time or fewer dimensions.`)
      const wanted = asked.metrics ?? [...metrics]
      const names = request.dimensions.includes('domain') ? await domainNames(parts.db, accountId) : new Map<string, string>()
      return {
        object: 'metrics' as const,
        start_date: isoTime(request.from),
        end_date: isoTime(asked.end_date ? request.to : now),
        granularity: request.granularity,
        metrics: wanted,
        dimensions: [...request.dimensions],
        totals: chosen(report.totals, wanted),
        ...(request.dimensions.length === 0 ? {} : { data: report.rows.map((row) => rowObject(row, wanted, names)) }),
      }
    },
  ),
]

type Edge = { at: number; isDay: boolean } | null

/** @throws SternaError `invalid_parameter` */
function rangeOf(asked: { start_date: Edge; end_date: Edge }, zone: TimeZone, now: number): { from: number; to: number } {
  const edgeOf = ({ at, isDay }: { at: number; isDay: boolean }, days: number): number => (isDay ? zone.atLocal(at + days * dayMs) : at)
  // What happens at this very moment counts too.
  const to = asked.end_date ? edgeOf(asked.end_date, 1) : now + 1
  const lastDay = Math.floor((to - 1 + zone.offsetAt(to - 1)) / dayMs)
  const from = asked.start_date ? edgeOf(asked.start_date, 0) : zone.atLocal((lastDay - standardDays + 1) * dayMs)
  if (from < to) return { from, to }
  throw new SternaError('invalid_parameter', 'The parameter start_date must be before end_date.')
}

/** @throws SternaError `invalid_parameter` */
function checkSize({ from, to, granularity, dimensions: by }: ReportRequest): void {
  if (!by.includes('period') || mostPeriods(from, to, granularity) <= mostRows) return
  throw new SternaError('invalid_parameter', `This is more than ${mostRows} periods. Ask for a shorter time or a coarser granularity.`)
}

async function domainNames(db: Database, accountId: string): Promise<Map<string, string>> {
  const rows = await db.report<{ id: string; name: string }>('select id, name from domain where account_id = :accountId and removed_at is null', { accountId })
  return new Map(rows.map(({ id, name }) => [id, name]))
}

function chosen(counts: Counts, wanted: readonly Metric[]): Partial<Record<Metric, number>> {
  const all = metricsOf(counts)
  return Object.fromEntries(wanted.map((name) => [name, all[name]]))
}

const rowObject = ({ period, domainId, tag, counts }: ReportRow, wanted: readonly Metric[], names: Map<string, string>) => ({
  ...(period === null ? {} : { period }),
  ...(domainId === null ? {} : { domain_id: domainId === '' ? null : domainId, domain_name: names.get(domainId) ?? null }),
  ...(tag === null ? {} : { tag }),
  ...chosen(counts, wanted),
})
