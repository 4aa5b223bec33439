import type { Database, Row } from '../store/database.ts'
import { TimeZone } from './local-time.ts'
import type { Segment } from './local-time.ts'
import { countedMetrics, noCounts } from './metric.ts'
import type { Counts } from './metric.ts'
import { dayMs, hourMs, periodOfDay, periodOfHour, periodsBetween } from './period.ts'
import type { Granularity } from './period.ts'
import { quarterMs } from './rollup.ts'

export const dimensions = ['period', 'domain', 'tag'] as const
export type Dimension = (typeof dimensions)[number]

export interface ReportRequest {
  accountId: string
  /** Epoch, ms; whole quarters of an hour are counted, those included in which these lie. */
  from: number
  to: number
  granularity: Granularity
  timeZone: TimeZone
  dimensions: readonly Dimension[]
  /** Null: all. */
  domainIds: string[] | null
}

/** One line of a report; what is not asked for is null. */
export interface ReportRow {
  period: string | null
  /** '' for mail of no domain. */
  domainId: string | null
  /** `name=value` */
  tag: string | null
  counts: Counts
}

export interface Report {
  totals: Counts
  /** In the order of period, domain, tag; by period alone also those without an event. */
  rows: ReportRow[]
}

interface RollupRow extends Row {
  unit: number
  domain_id: string
  tag: string
}

/** Lines of one report; more are of no use to anybody. */
export const mostRows = 10_000
/** Nothing was counted earlier: 2020-01-01. */
const beginning = Date.UTC(2020, 0, 1)
/** As good as for ever: one unit from the beginning to the end. */
const wholeTime = 8_640_000_000_000_000

/** What became of an account's live mail. Null where it has more than `mostRows` lines. */
export async function readReport(db: Database, request: ReportRequest): Promise<Report | null> {
  const [total] = await readRows(db, { ...request, dimensions: [] })
  const totals = total?.counts ?? noCounts()
  if (request.dimensions.length === 0) return { totals, rows: [] }
  const rows = await readRows(db, request)
  if (rows.length > mostRows) return null
  return { totals, rows: request.dimensions.join() === 'period' ? withEmptyPeriods(rows, request) : rows.toSorted(inOrder) }
}

async function readRows(db: Database, request: ReportRequest): Promise<ReportRow[]> {
  const by = (dimension: Dimension): boolean => request.dimensions.includes(dimension)
  const from = Math.max(beginning, Math.floor(request.from / quarterMs) * quarterMs)
  const to = Math.ceil(request.to / quarterMs) * quarterMs
  const unitMs = !by('period') ? wholeTime : request.granularity === 'hourly' ? hourMs : dayMs
  const segments = from >= to ? [] : by('period') ? request.timeZone.segments(from, to) : [{ from, to, offset: 0 }]
  const merged = new Map<string, ReportRow>()
  for (const segment of segments) {
    for await (const row of readSegment(db, segment, { unitMs, request })) {
      const period = by('period') ? periodNameOf(row.unit, segment, request.granularity) : null
      const domainId = by('domain') ? row.domain_id : null
      const tag = by('tag') ? row.tag : null
      const name = JSON.stringify([period, domainId, tag])
      const line = merged.get(name) ?? { period, domainId, tag, counts: noCounts() }
      for (const metric of countedMetrics) line.counts[metric] += Number(row[metric])
      merged.set(name, line)
      if (merged.size > mostRows) return [...merged.values()]
    }
  }
  return [...merged.values()]
}

const periodNameOf = (unit: number, segment: Segment, granularity: Granularity): string =>
  granularity === 'hourly' ? periodOfHour(unit, segment) : periodOfDay(unit, granularity)

const sums = countedMetrics.map((name) => `cast(sum(${name}) as bigint) as ${name}`).join(', ')

/** Days of one statement where all mail is counted, and rows of one where tags are: others must not wait for a long report. */
const pieceMs = 30 * dayMs
const pieceRows = 20_000

interface Piece {
  from: number
  to: number
  /** Tags behind this one are counted, up to the other one. */
  afterTag: string
  lastTag: string
}

/** Behind all tags. */
const behindTags = '~'

/** A segment piece by piece: one of time, or of tags, since the key of the rows has the tag before the time. */
async function* piecesOf(db: Database, { from, to }: Segment, { accountId, dimensions: by }: ReportRequest): AsyncGenerator<Piece> {
  if (!by.includes('tag')) {
    for (let at = from; at < to; at += pieceMs) yield { from: at, to: Math.min(to, at + pieceMs), afterTag: '', lastTag: '' }
    return
  }
  for (let afterTag = ''; afterTag < behindTags; ) {
    const [edge] = await db.report<{ tag: string }>(
      'select tag from rollup where account_id = :accountId and tag > :afterTag order by tag limit 1 offset :pieceRows',
      { accountId, afterTag, pieceRows },
    )
    const lastTag = edge?.tag ?? behindTags
    yield { from, to, afterTag, lastTag }
    afterTag = lastTag
  }
}

/** Days or hours by the clocks of one offset, all domains or each, all mail or by its tags. A unit may come in parts. */
async function* readSegment(db: Database, segment: Segment, context: { unitMs: number; request: ReportRequest }): AsyncGenerator<RollupRow> {
  for await (const piece of piecesOf(db, segment, context.request)) yield* await readPiece(db, { ...segment, ...piece }, context)
}

/** Uses the primary key. The casts make SQLite divide whole numbers: a parameter is a floating one to it. */
function readPiece(db: Database, { offset, ...piece }: Segment & Piece, { unitMs, request }: { unitMs: number; request: ReportRequest }): Promise<RollupRow[]> {
  const { accountId, domainIds } = request
  const names = (domainIds ?? []).map((_, place) => `d${place}`)
  const domain = request.dimensions.includes('domain') ? 'domain_id' : "''"
  const tags = request.dimensions.includes('tag') ? 'tag > :afterTag and tag <= :lastTag' : "tag = ''"
  const ofDomains = domainIds === null ? '' : `and domain_id in (${names.map((name) => `:${name}`).join(', ')})`
  return db.report<RollupRow>(
    `select (quarter + cast(:offset as bigint)) / cast(:unitMs as bigint) as unit, ${domain} as domain_id, tag, ${sums}
       from rollup
      where account_id = :accountId and ${tags} and quarter >= :from and quarter < :to ${ofDomains}
      group by 1, 2, 3
      limit ${mostRows * 2}`,
    { accountId, ...piece, offset, unitMs, ...Object.fromEntries(names.map((name, place) => [name, domainIds?.[place] ?? ''])) },
  )
}

function withEmptyPeriods(rows: ReportRow[], { from, to, granularity, timeZone }: ReportRequest): ReportRow[] {
  const known = new Map(rows.map((row) => [row.period, row]))
  const start = Math.floor(from / quarterMs) * quarterMs
  const end = Math.ceil(to / quarterMs) * quarterMs
  return periodsBetween(start, end, granularity, timeZone).map(
    (period) => known.get(period) ?? { period, domainId: null, tag: null, counts: noCounts() },
  )
}

function inOrder(one: ReportRow, other: ReportRow): number {
  for (const key of ['period', 'domainId', 'tag'] as const) {
    const [a, b] = [one[key] ?? '', other[key] ?? '']
    if (a !== b) return a < b ? -1 : 1
  }
  return 0
}
