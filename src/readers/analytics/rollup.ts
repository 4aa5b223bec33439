import { LogReader } from '../../mail/event/log-reader.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Statement, Value } from '../../platform/store/database.ts'
import { firstRows, nextRows } from '../../platform/store/remove-in-pieces.ts'
import { readStep } from './counted-events.ts'
import { KnownValues, type MostValues } from './known-values.ts'
import { latencyColumns } from './latency.ts'
import { countedMetrics } from './metric.ts'
import { linkMetrics } from './recipient-counts.ts'
import { spans } from './span.ts'
import { StepCounts, type CountRow, type LinkRow } from './step-counts.ts'

interface BatchLimits {
  /** Events of the first step. Later steps adapt to how long the last one delayed others. */
  firstEvents: number
  maxEvents: number
  /** Quarter-hour values that one commit may change. Each has three rows. */
  maxChanges: number
  maxValues: MostValues
}

const standardPace: BatchLimits = {
  firstEvents: firstRows,
  maxEvents: 4_000,
  maxChanges: 120,
  maxValues: { breakdown: 1_000, link: 100 },
}

/** The target, as a part of the limit. A step that exceeds the limit is discarded and read again, smaller. */
const aim = 0.8

/**
 * Counts the events of live mail into the tables `rollup`, `rollup_latency` and `rollup_link`. Call `keepUp` about once a minute. Reports
 * then read few rows, however much was sent. Counting happens off the store thread, so a commit changes only a few rows.
 */
export function analyticsReader(services: { db: Database; log: Log }, wanted: Partial<BatchLimits> = {}): LogReader {
  const pace = { ...standardPace, ...wanted }
  const values = new KnownValues(services.db, pace.maxValues)
  /** Where the last step ended; null after one that failed. */
  let endedAt: number | null = null
  return new LogReader(services, {
    ...pace,
    cursor: 'analytics',
    fault: 'events could not be counted for analytics',
    async take(step) {
      // Another writer has been here in between, such as another node, and may have placed values; or a step has failed.
      if (step.from !== endedAt) values.forget()
      endedAt = null
      const startedAt = performance.now()
      const read = await readStep(services.db, step)
      const readMs = performance.now() - startedAt
      const counts = new StepCounts(values)
      await counts.count(read)
      const statements = changesOf(counts)
      const events = step.to - step.from
      const fitting = Math.max(1, Math.floor((events * pace.maxChanges * aim) / Math.max(1, statements.length)))
      if (statements.length > pace.maxChanges && events > 1) {
        values.notWritten()
        endedAt = step.from
        return { statements: null, maxEvents: fitting }
      }
      return {
        statements,
        maxEvents: Math.min(fitting, nextRows(events, readMs)),
        written() {
          endedAt = step.to
          values.written()
        },
      }
    },
  })
}

const changesOf = ({ rows, latencies, links }: StepCounts): Statement[] => [
  ...rows.map(addRow),
  ...latencies.flatMap(addLatencies),
  ...links.map(addLink),
]

const columnSums = (table: string, columns: readonly string[]): string =>
  columns.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ')
const parameters = (names: readonly string[]): string => names.map((name) => `:${name}`).join(', ')

const allSpans = spans.map((span) => `select ${span} as span`).join(' union all ')

/** Adds to the rows of a quarter of an hour, its hour and its day. */
const addition = (table: string, columns: readonly string[]): string =>
  `insert into ${table} (account_id, breakdown, span, start, value, domain_id, ${columns.join(', ')})
   select :accountId, :breakdown, spans.span, cast(:quarter as bigint) / spans.span * spans.span, :value, :domainId, ${parameters(columns)}
     from (${allSpans}) spans where 1 = 1
   on conflict (account_id, breakdown, span, start, value, domain_id) do update set ${columnSums(table, columns)}`

const addToRollup = addition('rollup', countedMetrics)
/** A delivery changes one bucket. One statement for all buckets would be ten times as large. */
const addToBucket = latencyColumns.map((column) => addition('rollup_latency', [column]))

function withAdded(params: Record<string, Value>, columns: readonly string[], added: readonly number[]): Record<string, Value> {
  for (const [place, name] of columns.entries()) params[name] = added[place] ?? 0
  return params
}

const addRow = ({ key, added }: CountRow): Statement => ({ sql: addToRollup, params: withAdded({ ...key }, countedMetrics, added) })

const addLatencies = ({ key, added }: CountRow): Statement[] =>
  added.flatMap((by, place) => (by === 0 ? [] : [{ sql: addToBucket[place] ?? '', params: { ...key, [latencyColumns[place] ?? '']: by } }]))

const addLink = ({ key, added }: LinkRow): Statement => ({
  sql: `insert into rollup_link (account_id, template_id, start, link, ${linkMetrics.join(', ')})
        values (:accountId, :templateId, :start, :link, ${parameters(linkMetrics)})
        on conflict (account_id, template_id, start, link) do update set ${columnSums('rollup_link', linkMetrics)}`,
  params: withAdded({ ...key }, linkMetrics, added),
})
