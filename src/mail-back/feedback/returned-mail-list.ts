import type { Database, Row } from '../../platform/store/database.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import type { ReturnPathPurpose } from './returned-mail-store.ts'
import type { ReturnedMailResult } from './returned-mail-handler.ts'

interface ReturnedMailFilter {
  /** Null: all accounts, and mail that concerns none. */
  accountId: string | null
  purpose: ReturnPathPurpose | null
  result: ReturnedMailResult | null
  messageId: string | null
}

export interface ReturnedMailListRow extends Row {
  id: string
  received_at: number
  purpose: ReturnPathPurpose
  reverse_path: string | null
  forward_path: string
  remote_address: string
  ehlo_name: string
  tls: number
  size: number
  /** Null until it is settled. */
  result: ReturnedMailResult | null
  account_id: string | null
  message_id: string | null
  /** The recipient that it is about, if known. */
  recipient: string | null
  /** JSON. */
  summary: string | null
  settled_at: number | null
}

const columns = `i.id, i.received_at, i.purpose, i.reverse_path, i.forward_path, i.remote_address, i.ehlo_name, i.tls, i.size,
  i.result, i.account_id, i.message_id, i.summary, i.settled_at,
  case when i.message_id is null then null else (select r.forward_path from recipient r where r.id = i.recipient_id) end as recipient`

/** What the API shows of returned mail. Reads on the reader thread, so that no list delays a commit. */
export class ReturnedMailList {
  readonly #db: Pick<Database, 'slowRead'>

  constructor(db: Pick<Database, 'slowRead'>) {
    this.#db = db
  }

  /** `accountId`: as in `ReturnedMailFilter` */
  async find(id: string, accountId: string | null): Promise<ReturnedMailListRow | undefined> {
    const [row] = await this.#db.slowRead<ReturnedMailListRow>(
      `select ${columns} from returned_mail i where i.id = :id and (i.account_id = :accountId or :accountId = '')`,
      { id, accountId: accountId ?? '' },
    )
    return row
  }

  /** A page, newest first. Uses the indexes returned_mail_account and returned_mail_message, or the key. */
  page(filter: ReturnedMailFilter, page: Page): Promise<ReturnedMailListRow[]> {
    const { condition, order, params } = pageClause(page, 'i.id')
    const conditions = [
      condition,
      ...(filter.accountId === null ? [] : ['i.account_id = :accountId']),
      ...(filter.purpose === null ? [] : ['i.purpose = :purpose']),
      ...(filter.result === null ? [] : ['i.result = :result']),
      ...(filter.messageId === null ? [] : ['i.message_id = :messageId']),
    ]
    return this.#db.slowRead<ReturnedMailListRow>(`select ${columns} from returned_mail i where ${conditions.join(' and ')} ${order}`, {
      ...filter,
      ...params,
    })
  }
}
