import { timeOfId } from '../../platform/id.ts'
import type { Database, Row } from '../../platform/store/database.ts'
import type { Page } from '../../platform/store/page-clause.ts'

/** The queue of one destination. */
export interface DestinationQueue {
  destination: string
  /** Recipients that are not final, including all of the following. */
  waiting: number
  /** Recipients that can be tried now. */
  due: number
  /** Recipients that are being tried, or are about to be. */
  inHand: number
  held: number
  /** When the oldest of these was accepted, epoch ms. */
  oldestAt: number
  /** The next due time of those that are neither held nor claimed; null if there are none. */
  nextAttemptAt: number | null
  /** The result of the last attempt for one of these; null if there was none. */
  lastResponse: string | null
}

interface OverviewRow extends Row {
  destination: string
  waiting: number
  due: number
  in_hand: number
  held: number
  oldest: string
  next_due_at: number | null
}

/**
 * The recipients that are not final, as `queued`. Three parts, each with a partial index of its own (recipient_due, recipient_owned,
 * recipient_held), so that the many rows of finished mail are not scanned.
 */
export const queuedWhere = (condition: string): string => `(
         select id, destination, due_at, owner, held from recipient where due_at is not null and owner is null and held = 0 and ${condition}
          union all
         select id, destination, due_at, owner, held from recipient where owner is not null and due_at is not null and ${condition}
          union all
         select id, destination, due_at, owner, held from recipient where held > 0 and owner is null and due_at is not null and ${condition}
       ) as queued`

const counts = `count(*) as waiting,
         count(case when owner is null and held = 0 and due_at <= :now then 1 end) as due,
         count(case when owner is not null then 1 end) as in_hand, count(case when held > 0 then 1 end) as held,
         min(id) as oldest`

/** What is not final, by destination. */
const overview = (condition: string): string => `
  select destination, ${counts}, min(case when owner is null and held = 0 then due_at end) as next_due_at
    from ${queuedWhere(condition)}
   group by destination`

/** A page of the destinations with waiting mail, by name; with `before`, the nearest first. */
export async function destinationPage(db: Database, page: Page, now: number): Promise<DestinationQueue[]> {
  const edge = page.after ?? page.before ?? ''
  const [condition, order] = page.before === null ? ['destination > :edge', 'asc'] : ['destination < :edge', 'desc']
  const rows = await db.slowRead<OverviewRow>(`${overview(condition)} order by destination ${order} limit :limit`, {
    edge,
    now,
    limit: page.limit + 1,
  })
  return Promise.all(rows.map((row) => withLastResponse(db, row)))
}

/** The longest queues, and one more. */
export async function maxQueuesLength(db: Database, limit: number, now: number): Promise<DestinationQueue[]> {
  const rows = await db.slowRead<OverviewRow>(`${overview('1 = 1')} order by waiting desc, destination limit :limit`, {
    now,
    limit: limit + 1,
  })
  return Promise.all(rows.map((row) => withLastResponse(db, row)))
}

/** All queues together; as in `DestinationQueue`. */
export type QueueTotals = Pick<DestinationQueue, 'waiting' | 'due' | 'inHand' | 'held'> & { oldestAt: number | null }

export async function queueTotals(db: Database, now: number): Promise<QueueTotals> {
  const [row] = await db.slowRead<Pick<OverviewRow, 'waiting' | 'due' | 'in_hand' | 'held'> & { oldest: string | null }>(
    `select ${counts} from ${queuedWhere('1 = 1')}`,
    { now },
  )
  const { waiting = 0, due = 0, in_hand: inHand = 0, held = 0, oldest = null } = row ?? {}
  return { waiting, due, inHand, held, oldestAt: oldest === null ? null : timeOfId(oldest) }
}

/** Undefined if nothing waits for it. */
export async function destinationQueue(db: Database, destination: string, now: number): Promise<DestinationQueue | undefined> {
  const [row] = await db.slowRead<OverviewRow>(overview('destination = :destination'), { destination, now })
  return row && withLastResponse(db, row)
}

async function withLastResponse(db: Database, row: OverviewRow): Promise<DestinationQueue> {
  const [last] = await db.slowRead<{ last_response: string }>(
    `select last_response from recipient
      where id in (select (select r.id from recipient r
                            where r.destination = :destination and r.account_id = lane.account_id and r.urgent = lane.urgent
                              and r.due_at is not null and r.owner is null and r.held = 0 and r.last_response is not null
                            order by r.due_at desc, r.id desc limit 1)
                     from (select distinct account_id, urgent from recipient
                            where destination = :destination and due_at is not null and owner is null and held = 0) lane)
      order by due_at desc, id desc limit 1`,
    { destination: row.destination },
  )
  return {
    destination: row.destination,
    waiting: row.waiting,
    due: row.due,
    inHand: row.in_hand,
    held: row.held,
    oldestAt: timeOfId(row.oldest),
    nextAttemptAt: row.next_due_at,
    lastResponse: last?.last_response ?? null,
  }
}
