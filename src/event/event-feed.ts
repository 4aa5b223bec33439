import { scopeParams, type AccountScope } from '../account/account-scope.ts'
import type { Database, Row } from '../store/database.ts'
import { isPublic } from './event-blocks.ts'
import { EventSearch, type EventFilter, type FeedPage } from './event-search.ts'
import type { PublicEventType } from './event-type.ts'

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

/**
 * The log as accounts see it: the public events in the order in which they were written. That order has no gaps that are
 * filled later, so whoever goes on behind the last event that was seen misses none. Reads the connection for reports.
 */
export class EventFeed {
  readonly #db: Pick<Database, 'slowRead'>

  constructor(db: Pick<Database, 'slowRead'>) {
    this.#db = db
  }

  async find(scope: AccountScope, id: string): Promise<FeedRow | undefined> {
    const [row] = await this.#db.slowRead<FeedRow>(
      `select seq, id, type, created_at, data from event
        where id = :id and account_id = :accountId and sandbox = :sandbox and ${isPublic}`,
      { id, ...scopeParams(scope) },
    )
    return row
  }

  /** Where in the log an event of this account is; undefined where it is no longer kept, or never was. */
  async placeOf(scope: AccountScope, id: string): Promise<number | undefined> {
    const [row] = await this.#db.slowRead<{ seq: number }>(
      'select seq from event where id = :id and account_id = :accountId and sandbox = :sandbox',
      { id, ...scopeParams(scope) },
    )
    return row?.seq
  }

  /** Where the log ends now. */
  async end(): Promise<number> {
    const [row] = await this.#db.slowRead<{ seq: number }>('select coalesce(max(seq), 0) as seq from event')
    return row?.seq ?? 0
  }

  /** A page with one row more, as `pageClause` has it. */
  page(scope: AccountScope, page: FeedPage, filter = everything): Promise<FeedRow[]> {
    return new EventSearch<FeedRow>(this.#db, { columns: 'seq, id, type, created_at, data', scope, filter, page }).page()
  }
}
