import type { Database, Row, Value } from '../../platform/store/database.ts'
import { namedValues } from '../../platform/store/named-values.ts'
import type { Segment, TimeZone } from './local-time.ts'
import { dayMs, hourMs, periodOfDay, periodOfHour, periodsBetween, type Granularity } from './period.ts'
import { quarterMs, startOf, stretchesOf, type Stretch } from './span.ts'
import type { Breakdown } from './step-counts.ts'

/** What to break a report down by. Of those after `domain`, one at a time. `campaign`: the tag of that name. */
export const dimensions = ['period', 'domain', 'tag', 'template', 'provider', 'campaign', 'bounce_category', 'cause'] as const
export type Dimension = (typeof dimensions)[number]
/** Dimensions with values of their own. */
export const valueDimensions = ['tag', 'template', 'provider', 'campaign', 'bounce_category', 'cause'] as const satisfies Dimension[]

/** A table of counts, with the key of `rollup`. */
export interface CountTable {
  name: 'rollup' | 'rollup_latency'
  columns: readonly string[]
}

export interface ReportRequest {
  accountId: string
  /** Epoch, ms. Counts whole quarters of an hour, including those of both ends. */
  from: number
  to: number
  granularity: Granularity
  timeZone: TimeZone
  dimensions: readonly Dimension[]
  /** Null: all. */
  domainIds: string[] | null
  /** `name=value`: only mail with this tag, with no dimension that has values of its own. Null: all. */
  tag: string | null
}

/** One line of a report; null where a dimension was not requested. */
export interface ReportRow {
  period: string | null
  /** '' for mail without a domain. */
  domainId: string | null
  /** A tag as `name=value`, a template id …; `(other)` for values beyond the limit. */
  value: string | null
  /** In the order of the table's columns. */
  counts: number[]
}

export interface Report {
  totals: number[]
  /** Ordered by period, domain, value. A breakdown by period alone includes empty periods. */
  rows: ReportRow[]
}

/** Lines of one report. More would help nobody. */
export const maxRows = 10_000
/** Nothing was counted before 2020-01-01. */
const beginning = Date.UTC(2020, 0, 1)
/** Practically for ever: one unit for everything. */
const wholeTime = 8_640_000_000_000_000

/** What happened to an account's live mail. Null if it has more than `maxRows` lines. */
export async function readReport(db: Pick<Database, 'slowRead'>, table: CountTable, request: ReportRequest): Promise<Report | null> {
  const totals = await readTotals(db, table, request)
  if (request.dimensions.length === 0) return { totals, rows: [] }
  const rows = await readRows(db, table, request)
  if (rows.length > maxRows) return null
  return { totals, rows: request.dimensions.join() === 'period' ? withEmptyPeriods(rows, table, request) : rows.toSorted(inOrder) }
}

/** The sums of all rows, whatever the dimensions; in the order of the table's columns. */
export async function readTotals(db: Pick<Database, 'slowRead'>, table: CountTable, request: ReportRequest): Promise<number[]> {
  const [total] = await readRows(db, table, { ...request, dimensions: [] })
  return total?.counts ?? table.columns.map(() => 0)
}

async function readRows(db: Pick<Database, 'slowRead'>, table: CountTable, request: ReportRequest): Promise<ReportRow[]> {
  const isBy = (dimension: Dimension): boolean => request.dimensions.includes(dimension)
  const from = Math.max(beginning, startOf(request.from, quarterMs))
  const to = Math.ceil(request.to / quarterMs) * quarterMs
  const unitMs = !isBy('period') ? wholeTime : request.granularity === 'hourly' ? hourMs : dayMs
  const segments = from >= to ? [] : isBy('period') ? request.timeZone.segments(from, to) : [{ from, to, offset: 0 }]
  const valueDimension = valueDimensions.find(isBy)
  const merged = new Map<string, ReportRow>()
  for (const segment of segments) {
    for await (const row of readSegment(db, { table, segment, unitMs, request })) {
      const period = isBy('period') ? periodNameOf(row.unit, segment, request.granularity) : null
      const domainId = isBy('domain') ? row.domain_id : null
      const value = valueDimension === undefined ? null : row.value.slice(valueDimension === 'campaign' ? campaign.first.length : 0)
      const name = JSON.stringify([period, domainId, value])
      const line = merged.get(name)
      const counts = table.columns.map((column, place) => (line?.counts[place] ?? 0) + Number(row[column]))
      merged.set(name, { period, domainId, value, counts })
      if (merged.size > maxRows) return [...merged.values()]
    }
  }
  return [...merged.values()]
}

const periodNameOf = (unit: number, segment: Segment, granularity: Granularity): string =>
  granularity === 'hourly' ? periodOfHour(unit, segment) : periodOfDay(unit, granularity)

/** The values of the tag `campaign` lie between these. */
const campaign = { first: 'campaign=', end: 'campaign>' }
const campaignParams = { firstValue: campaign.first, endValue: campaign.end }

function breakdownOf({ name }: CountTable, { dimensions: by, tag }: ReportRequest): Breakdown {
  if (tag !== null) return 'tag'
  if (name === 'rollup_latency') return by.includes('provider') ? 'provider' : ''
  const dimension = valueDimensions.find((each) => by.includes(each))
  return dimension === 'campaign' ? 'tag' : (dimension ?? '')
}

interface CountRow extends Row {
  unit: number
  domain_id: string
  value: string
}

interface Reading {
  table: CountTable
  segment: Segment
  unitMs: number
  request: ReportRequest
}

/** Reads days or hours of one UTC offset, summed or by domain, summed or by value. A unit may come in parts. */
async function* readSegment(db: Pick<Database, 'slowRead'>, reading: Reading): AsyncGenerator<CountRow> {
  const { segment, unitMs } = reading
  // A longer span may be used if no unit begins inside it.
  const fits = (span: number): boolean => unitMs === wholeTime || (unitMs % span === 0 && segment.offset % span === 0)
  for (const stretch of stretchesOf(segment.from, segment.to, fits)) {
    for await (const piece of piecesOf(db, stretch, reading)) yield* await readPiece(db, piece, reading)
  }
}

/** Rows per statement. Others must not wait for a long report. */
const pieceRows = 10_000

/** Splits a stretch into pieces of roughly this many rows. */
async function* piecesOf(
  db: Pick<Database, 'slowRead'>,
  { span, from, to }: Stretch,
  { table, request }: Reading,
): AsyncGenerator<Stretch> {
  for (let at = from; at < to;) {
    const [edge] = await db.slowRead<{ start: number }>(
      `select start from ${table.name}
        where account_id = :accountId and breakdown = :breakdown and span = :span and start >= :at and start < :to
        order by start limit 1 offset :pieceRows`,
      { accountId: request.accountId, breakdown: breakdownOf(table, request), span, at, to, pieceRows },
    )
    const end = edge ? Math.max(edge.start, at + span) : to
    yield { span, from: at, to: end }
    at = end
  }
}

/** Uses the primary key. The casts make SQLite divide as integers, because it treats parameters as floating-point numbers. */
function readPiece(db: Pick<Database, 'slowRead'>, piece: Stretch, { table, segment, unitMs, request }: Reading): Promise<CountRow[]> {
  const { accountId, domainIds, tag, dimensions: by } = request
  const domains = namedValues('d', domainIds ?? [])
  const domain = by.includes('domain') ? 'domain_id' : "''"
  const value = valueDimensions.some((each) => by.includes(each)) ? 'value' : "''"
  const ofCampaigns = by.includes('campaign') ? 'and value >= :firstValue and value < :endValue' : ''
  const ofTag = tag === null ? '' : 'and value = :tag'
  const ofDomains = domainIds === null ? '' : `and domain_id in (${domains.names})`
  const sums = table.columns.map((name) => `cast(sum(${name}) as bigint) as ${name}`).join(', ')
  const params: Record<string, Value> = {
    ...piece,
    accountId,
    breakdown: breakdownOf(table, request),
    offset: segment.offset,
    unitMs,
    ...campaignParams,
  }
  return db.slowRead<CountRow>(
    `select (start + cast(:offset as bigint)) / cast(:unitMs as bigint) as unit, ${domain} as domain_id, ${value} as value, ${sums}
       from ${table.name}
      where account_id = :accountId and breakdown = :breakdown and span = :span and start >= :from and start < :to
            ${ofCampaigns} ${ofTag} ${ofDomains}
      group by 1, 2, 3
      limit ${maxRows * 2}`,
    { ...params, ...(tag === null ? {} : { tag }), ...domains.params },
  )
}

function withEmptyPeriods(rows: ReportRow[], { columns }: CountTable, { from, to, granularity, timeZone }: ReportRequest): ReportRow[] {
  const known = new Map(rows.map((row) => [row.period, row]))
  const end = Math.ceil(to / quarterMs) * quarterMs
  return periodsBetween(startOf(from, quarterMs), end, granularity, timeZone).map(
    (period) => known.get(period) ?? { period, domainId: null, value: null, counts: columns.map(() => 0) },
  )
}

function inOrder(one: ReportRow, other: ReportRow): number {
  for (const key of ['period', 'domainId', 'value'] as const) {
    const [a, b] = [one[key] ?? '', other[key] ?? '']
    if (a !== b) return a < b ? -1 : 1
  }
  return 0
}
