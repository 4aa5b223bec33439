import type { Log } from '../log.ts'
import { ConflictError, StorageFullError, type Database, type Row, type Statement, type Value } from '../store/database.ts'
import { firstRows, nextRows } from '../store/remove-in-pieces.ts'
import { readStep, type Step } from './counted-events.ts'
import { KnownValues, type MostValues } from './known-values.ts'
import { latencyColumns } from './latency.ts'
import { countedMetrics } from './metric.ts'
import { linkMetrics } from './recipient-counts.ts'
import { spans } from './span.ts'
import { StepCounts, type CountRow, type LinkRow } from './step-counts.ts'

interface Pace {
  /** Events of the first step; how many those that follow have goes by how long the last one has kept others waiting. */
  firstEvents: number
  mostEvents: number
  /** Quarters of an hour of a value that one commit may change; each has three rows. */
  mostChanges: number
  mostValues: MostValues
}

const standardPace: Pace = { firstEvents: firstRows, mostEvents: 4_000, mostChanges: 120, mostValues: { breakdown: 1_000, link: 100 } }

/** How near the next step is to come to the most changes: one with more is given up, and read again. */
const aim = 0.8

const cursorName = 'analytics'

interface Positions extends Row {
  /** How far events have been counted. */
  position: number
  /** The last event. */
  newest: number
}

/**
 * Counts the events of live mail into the tables rollup, rollup_latency and rollup_link. The cursor moves in the same batch as the
 * counts, so that every event is counted once whatever happens in between; a report is then a matter of few rows, however much was
 * sent. What is counted is worked out beside the store: a commit has a few rows to change.
 */
export class Rollup {
  readonly #db: Database
  readonly #log: Log
  readonly #pace: Pace
  readonly #values: KnownValues
  /** Of the next step. */
  #events: number
  #running: Promise<void> | undefined
  /** Somebody waits for the counts. */
  #hurry = false

  constructor({ db, log }: { db: Database; log: Log }, pace: Partial<Pace> = {}) {
    this.#db = db
    this.#log = log
    this.#pace = { ...standardPace, ...pace }
    this.#values = new KnownValues(db, this.#pace.mostValues)
    this.#events = this.#pace.firstEvents
  }

  /** Counts what was written since, without haste; to be called about once a minute. */
  async keepUp(): Promise<void> {
    try {
      await this.#run()
    } catch (error) {
      // A full disk is told of elsewhere, and the next call goes on where this one ended.
      if (!(error instanceof StorageFullError)) this.#log.error({ error }, 'events could not be counted for analytics')
    }
  }

  /** Counts every event that was written before this call. */
  async catchUp(): Promise<void> {
    this.#hurry = true
    // A run that is under way may have begun before the last events.
    await this.#running?.catch(() => {})
    this.#hurry = true
    await this.#run()
  }

  #run(): Promise<void> {
    this.#running ??= this.#count().finally(() => {
      this.#running = undefined
      this.#hurry = false
    })
    return this.#running
  }

  async #count(): Promise<void> {
    for (;;) {
      const [found] = await this.#db.read<Positions>(
        `select (select coalesce(max(position), 0) from cursor where name = '${cursorName}') as position,
                (select coalesce(max(seq), 0) from event) as newest`,
      )
      if (!found || found.position >= found.newest) return
      await this.#step({ from: found.position, to: Math.min(found.newest, found.position + this.#events) })
    }
  }

  async #step(step: Step): Promise<void> {
    const start = performance.now()
    const read = await readStep(this.#db, step)
    const readMs = performance.now() - start
    const events = step.to - step.from
    const counts = new StepCounts(this.#values)
    try {
      await counts.count(read)
      const changes = [...counts.rows.map(addRow), ...counts.latencies.flatMap(addLatencies), ...counts.links.map(addLink)]
      const fitting = Math.max(1, Math.floor((events * this.#pace.mostChanges * aim) / Math.max(1, changes.length)))
      if (changes.length > this.#pace.mostChanges && events > 1) {
        this.#values.notWritten()
        this.#events = fitting
        return
      }
      const onHeld = (ms: number): void => {
        this.#events = Math.min(this.#pace.mostEvents, fitting, nextRows(events, Math.max(ms, readMs)))
      }
      await this.#db.write([createCursor, moveCursor(step), ...changes], { patient: !this.#hurry, onHeld })
      this.#values.written()
    } catch (error) {
      this.#values.forget()
      // Somebody else counted these.
      if (!(error instanceof ConflictError)) throw error
    }
  }
}

const createCursor: Statement = {
  sql: `insert into cursor (name, position) values ('${cursorName}', 0) on conflict (name) do nothing`,
}

const moveCursor = ({ from, to }: Step): Statement => ({
  sql: `update cursor set position = :to where name = '${cursorName}' and position = :from`,
  params: { from, to },
  expect: 1,
})

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
/** A delivery has one bucket, and a statement of all of them would be as large as ten others. */
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
