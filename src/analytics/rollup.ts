import type { Log } from '../log.ts'
import { ConflictError, StorageFullError } from '../store/database.ts'
import type { Database, Row, Statement } from '../store/database.ts'
import { countedMetrics } from './metric.ts'

/** Events of one step: it bounds how long one commit takes. */
const stepSize = 1_000

/** ms; no time zone is off by a part of it */
export const quarterMs = 900_000

const cursorName = 'analytics'

interface Positions extends Row {
  /** How far events have been counted. */
  position: number
  /** The last event. */
  newest: number
}

/**
 * Counts the events of live mail into the table rollup. The cursor moves in the same batch as the counts, so that every
 * event is counted once whatever happens in between; a report is then a matter of few rows, however much was sent.
 */
export class Rollup {
  readonly #db: Database
  readonly #log: Log
  #running: Promise<void> | undefined
  /** Somebody waits for the counts. */
  #hurry = false

  constructor({ db, log }: { db: Database; log: Log }) {
    this.#db = db
    this.#log = log
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
      const step = { from: found.position, to: Math.min(found.newest, found.position + stepSize) }
      try {
        await this.#db.write([createCursor, moveCursor(step), countTotals(step), countTags(step)], { patient: !this.#hurry })
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error
        // Somebody else counted these.
      }
    }
  }
}

const createCursor: Statement = {
  sql: `insert into cursor (name, position) values ('${cursorName}', 0) on conflict (name) do nothing`,
}

interface Step {
  /** The seq before the first event of the step. */
  from: number
  /** That of its last. */
  to: number
}

const moveCursor = ({ from, to }: Step): Statement => ({
  sql: `update cursor set position = :to where name = '${cursorName}' and position = :from`,
  params: { from, to },
  expect: 1,
})

const key = 'account_id, tag, quarter, domain_id'
const columns = countedMetrics.join(', ')
const added = countedMetrics.map((name) => `${name} = rollup.${name} + excluded.${name}`).join(', ')

/** The first event of its type for its recipient: with a condition on `f` and on `e` it counts recipients, not events. */
const isFirst = (condition = '1 = 1'): string => `not exists (select 1 from event f
   where f.message_id = e.message_id and f.recipient_id = e.recipient_id and f.type = e.type and f.seq < e.seq and ${condition})`

/** In JSON a quotation mark within a text stands behind a backslash, so these match no text of a stranger's. */
const has = (member: string, table = 'e'): string => `${table}.data like '%${member}%'`
const isSuppressed = has('"bounce_category":"suppressed"')
const isFailed = has('"bounce_category":"internal_error"')
const isBounced = `e.type = 'email.bounced' and not ${isSuppressed} and not ${isFailed}`
const byPerson = has('"bot":false')

/** When an event counts for what; in the order of `countedMetrics`. */
const conditions: Record<(typeof countedMetrics)[number], string> = {
  sent: `e.type = 'email.sent'`,
  delivered: `e.type = 'email.delivered'`,
  opened: `e.type = 'email.opened'`,
  clicked: `e.type = 'email.clicked'`,
  bounced_permanent: `${isBounced} and ${has('"bounce_type":"hard"')}`,
  bounced_transient: `${isBounced} and ${has('"bounce_type":"soft"')}`,
  complained: `e.type = 'email.complained' and ${isFirst()}`,
  unsubscribed: `e.type = 'email.unsubscribed' and ${isFirst()}`,
  suppressed: `e.type = 'email.bounced' and ${isSuppressed}`,
  failed: `e.type = 'email.bounced' and ${isFailed}`,
  delivery_delayed: `e.type = 'email.deferred' and ${isFirst()}`,
  unique_opened: `e.type = 'email.opened' and ${byPerson} and ${isFirst(has('"bot":false', 'f'))}`,
  unique_clicked: `e.type = 'email.clicked' and ${byPerson} and ${isFirst(has('"bot":false', 'f'))}`,
}

const counts = countedMetrics.map((name) => `count(case when ${conditions[name]} then 1 end)`).join(',\n  ')

const counted = `e.seq > :from and e.seq <= :to and e.sandbox = 0
   and e.type in ('email.sent', 'email.delivered', 'email.opened', 'email.clicked', 'email.bounced', 'email.complained',
                  'email.unsubscribed', 'email.deferred')`

const countTotals = (step: Step): Statement => ({
  sql: `insert into rollup (${key}, ${columns})
        select e.account_id, '', e.created_at / ${quarterMs} * ${quarterMs}, coalesce(m.domain_id, ''), ${counts}
          from event e left join message m on m.id = e.message_id
         where ${counted}
         group by 1, 2, 3, 4
        on conflict (${key}) do update set ${added}`,
  params: { ...step },
})

/** For each tag of a message; mail without any has no rows here. */
const countTags = (step: Step): Statement => ({
  sql: `insert into rollup (${key}, ${columns})
        select e.account_id, t.name || '=' || t.value, e.created_at / ${quarterMs} * ${quarterMs}, coalesce(m.domain_id, ''), ${counts}
          from event e join message m on m.id = e.message_id join message_tag t on t.message_id = e.message_id
         where ${counted}
         group by 1, 2, 3, 4
        on conflict (${key}) do update set ${added}`,
  params: { ...step },
})
