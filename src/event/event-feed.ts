import { scopeParams } from '../account/account-scope.ts'
import type { AccountScope } from '../account/account-scope.ts'
import type { Database, Row, Value } from '../store/database.ts'
import { pageClause } from '../store/page-clause.ts'
import type { Page } from '../store/page-clause.ts'
import { publicEventTypes } from './event-type.ts'
import type { PublicEventType } from './event-type.ts'

interface EventFilter {
  type: PublicEventType | null
  messageId: string | null
  /** Bare address of a recipient. */
  to: string | null
  /** Recorded at or after; epoch, ms. */
  since: number | null
  /** Recorded before; epoch, ms. */
  until: number | null
}

/** A piece of the log, by places in it. */
export interface FeedPage extends Page<number> {
  order: 'asc' | 'desc'
}

export interface FeedRow extends Row {
  /** The place in the log: what is written later has a higher one. */
  seq: number
  id: string
  type: PublicEventType
  created_at: number
  /** JSON, exactly what webhooks carry. */
  data: string
}

const everything: EventFilter = { type: null, messageId: null, to: null, since: null, until: null }

/** As the index event_feed has it, so that it is used. */
const isPublic = `type in (${publicEventTypes.map((type) => `'${type}'`).join(', ')})`

/**
 * The log as accounts see it: the public events in the order in which they were written. That order has no gaps that are
 * filled later, so whoever goes on behind the last event that was seen misses none. Reads the connection for reports.
 */
export class EventFeed {
  readonly #db: Pick<Database, 'report'>

  constructor(db: Pick<Database, 'report'>) {
    this.#db = db
  }

  async find(scope: AccountScope, id: string): Promise<FeedRow | undefined> {
    const [row] = await this.#db.report<FeedRow>(
      `select seq, id, type, created_at, data from event
        where id = :id and account_id = :accountId and sandbox = :sandbox and ${isPublic}`,
      { id, ...scopeParams(scope) },
    )
    return row
  }

  /** Where in the log an event of this account is; undefined where it is no longer kept, or never was. */
  async placeOf(scope: AccountScope, id: string): Promise<number | undefined> {
    const [row] = await this.#db.report<{ seq: number }>(
      'select seq from event where id = :id and account_id = :accountId and sandbox = :sandbox',
      { id, ...scopeParams(scope) },
    )
    return row?.seq
  }

  /** Where the log ends now. */
  async end(): Promise<number> {
    const [row] = await this.#db.report<{ seq: number }>('select coalesce(max(seq), 0) as seq from event')
    return row?.seq ?? 0
  }

  /** A page with one row more, as `pageClause` has it. Uses the index event_feed, or event_message where one email is asked for. */
  page(scope: AccountScope, page: FeedPage, filter = everything): Promise<FeedRow[]> {
    const piece = pageClause(page, 'seq', page.order)
    const conditions = ['account_id = :accountId', 'sandbox = :sandbox', isPublic, piece.condition]
    const params: Record<string, Value> = { ...scopeParams(scope), ...piece.params }
    for (const [condition, name, value] of conditionsOf(filter)) {
      conditions.push(condition)
      params[name] = value
    }
    return this.#db.report<FeedRow>(
      `select seq, id, type, created_at, data from event where ${conditions.join(' and ')} ${piece.order}`,
      params,
    )
  }
}

const toRecipient = 'exists (select 1 from recipient where recipient.id = event.recipient_id and lower(recipient.forward_path) = :to)'

function conditionsOf(filter: EventFilter): [condition: string, name: string, value: Value][] {
  const all: [string, string, Value][] = [
    ['type = :type', 'type', filter.type],
    ['message_id = :messageId', 'messageId', filter.messageId],
    [toRecipient, 'to', filter.to?.toLowerCase() ?? null],
    ['created_at >= :since', 'since', filter.since],
    ['created_at < :until', 'until', filter.until],
  ]
  return all.filter(([, , value]) => value !== null)
}
