import { z } from 'zod'
import { TimeZone } from '../../readers/analytics/local-time.ts'
import { dayMs, granularities, maxPeriods, type Granularity } from '../../readers/analytics/period.ts'
import {
  maxRows,
  readReport,
  readTotals,
  valueDimensions,
  type CountTable,
  type Dimension,
  type ReportRequest,
  type ReportRow,
} from '../../readers/analytics/report.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime, parseIsoTime } from '../../platform/iso-time.ts'
import type { Database } from '../../platform/store/database.ts'
import { formatParameter, spreadsheetParameter } from '../operation/csv.ts'
import type { QueryValues } from '../operation/operation.ts'
import { timeAnswer } from '../operation/resource.ts'
import { choiceParameter, listParameter, textParameter } from '../operation/query.ts'
import type { Needs } from './operation-services.ts'

export type AnalyticsServices = Needs<'db' | 'clock' | 'rollup'>

/** Days in the period if no start is given, including the last one. */
const standardDays = 7

/** Any of these words. */
export const wordsOf = <const T extends readonly string[]>(words: T) =>
  listParameter(words.length).transform((given, ctx) => {
    const unknown = given.find((word) => !words.includes(word))
    if (unknown === undefined) return words.filter((word) => given.includes(word)) as T[number][]
    ctx.addIssue(`has "${unknown.slice(0, 50)}"; the choices are ${words.join(', ')}`)
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

/** A day or a point in time; a day means all of it in the time zone. */
const dayOrTime = textParameter.transform((text, ctx) => {
  const at = parseIsoTime(text)
  if (at !== null) return { at, isDay: text.length === 10 }
  ctx.addIssue('must be a time such as 2026-11-21T06:00:00Z, or a date')
  return z.NEVER
})

/** The parameters for the period. */
export const timeQuery = {
  start_date: dayOrTime.meta({ description: 'A time or a date; default: six days before the end.' }),
  end_date: dayOrTime.meta({ description: 'A time, or a date that is included; default: now.' }),
  timezone: timeZone,
  format: formatParameter,
  spreadsheet: spreadsheetParameter,
}

/** The parameters of queries that can be grouped. */
export const reportQuery = {
  ...timeQuery,
  granularity: choiceParameter(granularities).meta({ description: 'The length of a period; default: daily.' }),
  domain_id: listParameter(100).meta({ description: 'Up to 100 domain ids: counts only their mail.' }),
  compare: choiceParameter(['previous']).meta({ description: 'previous: adds the totals of the period of the same length before.' }),
}

type Asked = AskedTime & Pick<QueryValues<typeof reportQuery>, 'granularity' | 'domain_id' | 'compare'> & { tag?: string | null }
type AskedTime = Pick<QueryValues<typeof timeQuery>, 'start_date' | 'end_date' | 'timezone'>

/**
 * The period of a query; epoch, ms.
 * @throws SternaError `invalid_parameter`
 */
export function rangeOf(asked: AskedTime, now: number): { from: number; to: number } {
  const zone = asked.timezone ?? new TimeZone('UTC')
  const edgeOf = ({ at, isDay }: { at: number; isDay: boolean }, days: number): number => (isDay ? zone.atLocal(at + days * dayMs) : at)
  // What happens at this very moment counts too.
  const to = asked.end_date ? edgeOf(asked.end_date, 1) : now + 1
  const lastDay = Math.floor((to - 1 + zone.offsetAt(to - 1)) / dayMs)
  const from = asked.start_date ? edgeOf(asked.start_date, 0) : zone.atLocal((lastDay - standardDays + 1) * dayMs)
  if (from < to) return { from, to }
  throw new SternaError('invalid_parameter', 'The parameter start_date must be before end_date.')
}

/** @throws SternaError `invalid_parameter` */
function reportRequest(
  accountId: string,
  asked: Asked,
  { dimensions, now }: { dimensions: readonly Dimension[]; now: number },
): ReportRequest {
  const range = rangeOf(asked, now)
  const granularity = asked.granularity ?? 'daily'
  const tag = asked.tag ?? null
  checkSize(range, granularity, dimensions)
  if (tag !== null && valueDimensions.some((each) => dimensions.includes(each))) {
    throw new SternaError('invalid_parameter', 'The parameter tag can only be combined with the dimensions period and domain.')
  }
  return { accountId, ...range, granularity, timeZone: asked.timezone ?? new TimeZone('UTC'), dimensions, domainIds: asked.domain_id, tag }
}

/** The totals of the period before, as an answer shows them. */
export const previousAnswer = <Totals extends z.ZodType>(id: string, totals: Totals) =>
  z.object({ start_date: timeAnswer, end_date: timeAnswer, totals }).meta({ id }).optional().describe('Present with `compare=previous`.')

/** The totals of the period of the same length before, as `totalsOf` shows its counts. */
async function previousTotals<T>(
  db: Pick<Database, 'slowRead'>,
  table: CountTable,
  request: ReportRequest,
  totalsOf: (counts: readonly number[]) => T,
): Promise<{ previous: { start_date: string; end_date: string; totals: T } }> {
  const [from, to] = [2 * request.from - request.to, request.from]
  const counts = await readTotals(db, table, { ...request, from, to, dimensions: [] })
  return { previous: { start_date: isoTime(from), end_date: isoTime(to), totals: totalsOf(counts) } }
}

function checkSize({ from, to }: { from: number; to: number }, granularity: Granularity, by: readonly Dimension[]): void {
  if (valueDimensions.filter((each) => by.includes(each)).length > 1) {
    const which = valueDimensions.join(', ')
    throw new SternaError('invalid_parameter', `The parameter dimensions can have only one of ${which} at a time. Request each separately.`)
  }
  if (!by.includes('period') || maxPeriods(from, to, granularity) <= maxRows) return
  throw new SternaError('invalid_parameter', `This is more than ${maxRows} periods. Request a shorter time or a coarser granularity.`)
}

const tooManyRows = (): SternaError =>
  new SternaError('invalid_parameter', `The response would have more than ${maxRows} rows. Request a shorter time or fewer dimensions.`)

/** The start and end that the response shows. */
const timesOf = ({ from, to }: { from: number; to: number }, asked: AskedTime, now: number) => ({
  start_date: isoTime(from),
  end_date: isoTime(asked.end_date ? to : now),
})

/** What a row is about, by the dimensions that every report has. */
export const commonRowNames = {
  period: { period: z.string().optional().describe('The first day of the period, or the time at which the hour began.') },
  domain: {
    domain_id: z.string().nullable().optional().describe('Null for mail without a domain.'),
    domain_name: z.string().nullable().optional().describe('Null if the domain has been removed.'),
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
}

interface AskedReport<D extends Dimension> {
  accountId: string
  asked: Asked
  by: readonly D[]
}

/**
 * What an answer says of a report before its rows, and the rows, each with what it is about as far as every report has it.
 * @throws SternaError `invalid_parameter` if there would be too many
 */
export async function readAnswer<T, const D extends Dimension>(
  { db, clock, rollup }: AnalyticsServices,
  table: CountTable,
  { accountId, asked, by }: AskedReport<D>,
  totalsOf: (counts: readonly number[]) => T,
) {
  const now = clock.now()
  const request = reportRequest(accountId, asked, { dimensions: by, now })
  await rollup.catchUp()
  const report = await readReport(db, table, request)
  if (!report) throw tooManyRows()
  const previous = asked.compare && (await previousTotals(db, table, request, totalsOf))
  const { granularity } = request
  const answer = { ...timesOf(request, asked, now), granularity, dimensions: [...by], totals: totalsOf(report.totals), ...previous }
  const domains = await namesOf(db, 'domain', by.some((each) => each === 'domain') ? accountId : null)
  const rows = report.rows.map((row) => ({ ...row, about: aboutRow(row, domains) }))
  return { answer, rows }
}

const aboutRow = ({ period, domainId }: ReportRow, domains: ReadonlyMap<string, string>) => ({
  ...(period === null ? {} : { period }),
  ...(domainId === null ? {} : { domain_id: domainId === '' ? null : domainId, domain_name: domains.get(domainId) ?? null }),
})

/** The names of an account's objects, by id; none without an account. */
export async function namesOf(
  db: Pick<Database, 'slowRead'>,
  what: 'domain' | 'template',
  accountId: string | null,
): Promise<ReadonlyMap<string, string>> {
  if (accountId === null) return new Map()
  const sql =
    what === 'domain'
      ? 'select id, name from domain where account_id = :accountId and removed_at is null'
      : 'select id, name from template where account_id = :accountId'
  const rows = await db.slowRead<{ id: string; name: string }>(sql, { accountId })
  return new Map(rows.map(({ id, name }) => [id, name]))
}
