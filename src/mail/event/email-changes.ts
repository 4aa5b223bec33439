import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import type { Database } from '../../platform/store/database.ts'

/** Emails to which something happened between two positions in the log. */
export interface ChangedEmails {
  emailIds: string[]
  /** True if there are more than were asked for; the others are not told later. */
  hasMore: boolean
  /** The position up to which the log was read. */
  end: number
}

/**
 * Says which emails of an account changed, by events of every type. It reads the log since the last time until it has found `most`
 * emails. Runs on the reader thread.
 */
export class EmailChanges {
  readonly #db: Pick<Database, 'slowRead'>

  constructor(db: Pick<Database, 'slowRead'>) {
    this.#db = db
  }

  async since(scope: AccountScope, place: number, most: number): Promise<ChangedEmails> {
    const [last] = await this.#db.slowRead<{ seq: number }>('select coalesce(max(seq), 0) as seq from event')
    const end = Math.max(place, last?.seq ?? 0)
    const rows = await this.#db.slowRead<{ message_id: string }>(
      `select distinct message_id from event
        where seq > :place and seq <= :end and account_id = :accountId and sandbox = :sandbox limit :rows`,
      { place, end, rows: most + 1, ...scopeParams(scope) },
    )
    return { emailIds: rows.slice(0, most).map(({ message_id: id }) => id), hasMore: rows.length > most, end }
  }
}
