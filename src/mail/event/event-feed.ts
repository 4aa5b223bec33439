import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import { idFloor, numberOfId, timeOfNumber } from '../../platform/id.ts'
import type { Database, Row } from '../../platform/store/database.ts'
import { isPublic } from './event-blocks.ts'
import { EventSearch, type EventFilter, type FeedPage } from './event-search.ts'
import type { PublicEventType } from './event-type.ts'

export interface FeedRow extends Row {
  /** The position in the log. Later events have higher ones. */
  seq: number
  id: string
  type: PublicEventType
  /** 1 or 0 */
  sandbox: number
  message_id: string
  recipient_id: string | null
  created_at: number
  /** JSON, exactly as sent to webhooks. */
  data: string
}

/** Emails to which something happened between two positions in the log. */
interface ChangedEmails {
  emailIds: string[]
  /** True if there are more than were asked for; the others are not told later. */
  hasMore: boolean
  /** The position up to which the log was read. */
  end: number
}

const columns = 'seq, id, type, sandbox, message_id, recipient_id, created_at, data'

const everything: EventFilter = { type: null, messageId: null, to: null, since: null, until: null }

/**
 * The log as accounts see it: the public events in the order of writing. No gap is filled later, so a reader who continues after the last
 * event seen misses none. Runs on the reader thread.
 */
export class EventFeed {
  readonly #db: Pick<Database, 'slowRead'>

  constructor(db: Pick<Database, 'slowRead'>) {
    this.#db = db
  }

  async find(scope: AccountScope, id: string): Promise<FeedRow | undefined> {
    const [row] = await this.#db.slowRead<FeedRow>(
      `select ${columns} from event
        where id = :id and account_id = :accountId and sandbox = :sandbox and ${isPublic}`,
      { id, ...scopeParams(scope) },
    )
    return row
  }

  /** The event whose id has this number (see `numberOfId`). */
  async findByNumber(scope: AccountScope, number: number): Promise<FeedRow | undefined> {
    const at = timeOfNumber(number)
    const rows = await this.#db.slowRead<FeedRow>(
      `select ${columns} from event
        where id >= :floor and id < :end and account_id = :accountId and sandbox = :sandbox and ${isPublic}`,
      { floor: idFloor('evt', at), end: idFloor('evt', at + 1), ...scopeParams(scope) },
    )
    return rows.find(({ id }) => numberOfId(id) === number)
  }

  /** The log position of one of this account's events; undefined if it was deleted or never existed. */
  async placeOf(scope: AccountScope, id: string): Promise<number | undefined> {
    const [row] = await this.#db.slowRead<{ seq: number }>(
      'select seq from event where id = :id and account_id = :accountId and sandbox = :sandbox',
      { id, ...scopeParams(scope) },
    )
    return row?.seq
  }

  /** The last position in the log. */
  async end(): Promise<number> {
    const [row] = await this.#db.slowRead<{ seq: number }>('select coalesce(max(seq), 0) as seq from event')
    return row?.seq ?? 0
  }

  /** A page with one extra row, for `pageClause`. */
  page(scope: AccountScope, page: FeedPage, filter = everything): Promise<FeedRow[]> {
    return new EventSearch<FeedRow>(this.#db, { columns, scope, filter, page }).page()
  }
  /** Which emails of an account changed after `place`, by events of every type; at most `most`. */
  async changes(scope: AccountScope, place: number, most: number): Promise<ChangedEmails> {
    const end = Math.max(place, await this.end())
    const rows = await this.#db.slowRead<{ message_id: string }>(
      `select distinct message_id from event
        where seq > :place and seq <= :end and account_id = :accountId and sandbox = :sandbox limit :rows`,
      { place, end, rows: most + 1, ...scopeParams(scope) },
    )
    return { emailIds: rows.slice(0, most).map(({ message_id: id }) => id), hasMore: rows.length > most, end }
  }
}
