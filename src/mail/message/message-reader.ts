import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import { idFloor, isId, numberOfId, timeOfNumber } from '../../platform/id.ts'
import type { Database, Row } from '../../platform/store/database.ts'
import { namedValues } from '../../platform/store/named-values.ts'
import type { RecipientType } from './envelope.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import { standardSizes } from '../../platform/store/search-in-pieces.ts'
import type { NewestEvent } from './email-status.ts'
import type { MessageFilter } from './message-filter.ts'
import { searchMessages } from './message-search.ts'
import { isKept, type MessageRow } from './message-store.ts'

export type RecipientRow = {
  /** `rcp_…` */
  id: string
  message_id: string
  forward_path: string
  type: RecipientType
  state: string
  attempts: number
  due_at: number | null
  last_response: string | null
  smtp_code: number | null
  enhanced_status: string | null
  /** Who runs the host that was tried last: see `mxProviderOf`. */
  provider: string | null
  /** When it was handed to the smarthost. */
  sent_at: number | null
  delivered_at: number | null
  bounced_at: number | null
  opened_at: number | null
  open_count: number
  clicked_at: number | null
  click_count: number
  complained_at: number | null
  unsubscribed_at: number | null
}

/** What the log says of a bounce. */
export interface LastBounce {
  bounce_category: string
  smtp_code: number | null
  enhanced_status: string | null
  reason: string
  /** What was refused: a `RefusalPhase`. */
  phase?: string
}

/** What the log says last of why a recipient got nothing. */
export type LastFailure = { type: 'email.bounced'; data: LastBounce } | { type: 'email.deferred'; data: { phase?: string } }

/** A recipient with its message. */
export type FoundRecipient = MessageRow & {
  /** `rcp_…` */
  id: string
  message_id: string
  forward_path: string
  state: string
  delivered_at: number | null
  /** When the last attempt began; null where there was none. */
  last_attempt_at: number | null
}

export interface AttemptRow extends Row {
  id: string
  message_id: string
  forward_path: string
  started_at: number
  duration_ms: number
  outcome: 'delivered' | 'deferred' | 'bounced'
  mx_host: string | null
  address: string | null
  source_address: string | null
  tls: string | null
  selectors: string | null
  reply: string | null
  smtp_code: number | null
  enhanced_status: string | null
  transcript: string
}

export interface EventRow extends Row {
  seq: number
  id: string
  type: string
  /** 1 or 0 */
  sandbox: number
  created_at: number
  data: string
}

/** The last piece and the reading of the page come on top. */
const maxSearchMs = 200

/**
 * What the API shows of messages. Everything is read on the connection for slow queries, so that no list delays a commit. Before
 * reading the parts of a message, check that it is in the caller's scope.
 */
export class MessageReader {
  readonly #db: Pick<Database, 'slowRead'>

  constructor(db: Pick<Database, 'slowRead'>) {
    this.#db = db
  }

  /** The message with this id, unless it belongs to another account or the other mode. */
  async find(scope: AccountScope, id: string): Promise<MessageRow | undefined> {
    if (!isId('em', id)) return undefined
    const [row] = await this.#db.slowRead<MessageRow>(
      'select * from message where id = :id and account_id = :accountId and sandbox = :sandbox',
      { id, ...scopeParams(scope) },
    )
    return row
  }

  /** The message with this id, whoever's it is: for the operator. */
  async findAnywhere(id: string): Promise<MessageRow | undefined> {
    const [row] = await this.#db.slowRead<MessageRow>('select * from message where id = :id', { id })
    return row
  }

  /** A page, newest first; `listBody` makes the answer of it. */
  async list(scope: AccountScope, filter: MessageFilter, page: Page): Promise<MessageRow[]> {
    return (await searchMessages<MessageRow>(this.#db, { columns: 'message.*', scope, filter, page })).rows
  }

  /**
   * The same for somebody who waits for it. If matches are rare it stops early: `stoppedAt` is then the id of the message that it came to,
   * which `after` of the next page may be. Backwards, with `before`, it does not stop.
   */
  async search(scope: AccountScope, filter: MessageFilter, page: Page): Promise<{ rows: MessageRow[]; stoppedAt: string | null }> {
    const sizes = page.before === null ? { ...standardSizes, maxMs: maxSearchMs } : standardSizes
    const { rows, rest } = await searchMessages<MessageRow>(this.#db, { columns: 'message.*', scope, filter, page }, sizes)
    return { rows, stoppedAt: rest?.end ?? null }
  }

  /** The recipients of these messages, in the order in which they were given. */
  async recipients(messageIds: string[]): Promise<RecipientRow[]> {
    if (messageIds.length === 0) return []
    const { names, params } = namedValues('id', messageIds)
    return this.#db.slowRead<RecipientRow>(
      `select id, message_id, forward_path, type, state, attempts, due_at, last_response, smtp_code, enhanced_status, provider,
              sent_at, delivered_at, bounced_at, opened_at, open_count, clicked_at, click_count, complained_at, unsubscribed_at
         from recipient where message_id in (${names}) order by message_id, id`,
      params,
    )
  }

  /** The recipient whose id has this number (see `numberOfId`), in the scope. */
  async findByNumber(scope: AccountScope, number: number): Promise<FoundRecipient | undefined> {
    const at = timeOfNumber(number)
    const rows = await this.#db.slowRead<FoundRecipient>(
      `select message.*, recipient.id, recipient.message_id, recipient.forward_path, recipient.state, recipient.delivered_at,
              (select max(started_at) from attempt where recipient_id = recipient.id and attempt.message_id = recipient.message_id) as last_attempt_at
         from recipient join message on message.id = recipient.message_id
        where recipient.id >= :floor and recipient.id < :end and message.account_id = :accountId and message.sandbox = :sandbox`,
      { floor: idFloor('rcp', at), end: idFloor('rcp', at + 1), ...scopeParams(scope) },
    )
    return rows.find(({ id }) => numberOfId(id) === number)
  }

  /** The newest event of each of these messages; being unsubscribed says nothing about the email itself, a late verdict nothing new. */
  async newestEvents(messageIds: string[]): Promise<Map<string, NewestEvent>> {
    if (messageIds.length === 0) return new Map()
    const { names, params } = namedValues('id', messageIds)
    const rows = await this.#db.slowRead<{ message_id: string; type: string; data: string }>(
      `select message_id, type, data from event
        where seq in (select max(seq) from event
                       where message_id in (${names}) and type not in ('email.unsubscribed', 'email.rejudged') group by message_id)`,
      params,
    )
    return new Map(rows.map(({ message_id, type, data }) => [message_id, { type, data: JSON.parse(data) }]))
  }

  /** The last bounce or deferral of each recipient of these messages, by the recipient's id, as far as there was one. */
  async lastFailures(messageIds: string[]): Promise<Map<string, LastFailure>> {
    if (messageIds.length === 0) return new Map()
    const { names, params } = namedValues('id', messageIds)
    const rows = await this.#db.slowRead<{ recipient_id: string; type: LastFailure['type']; data: string }>(
      `select recipient_id, type, data from event
        where seq in (select max(seq) from event
                       where message_id in (${names}) and type in ('email.bounced', 'email.deferred') group by recipient_id)`,
      params,
    )
    return new Map(rows.map(({ recipient_id: id, type, data }) => [id, { type, data: JSON.parse(data) }]))
  }

  /** The bytes of a message in pieces; none if they are no longer kept, or are kept only until delivery. */
  async content(messageId: string): Promise<Uint8Array[]> {
    const rows = await this.#db.slowRead<{ bytes: Uint8Array }>(
      `select bytes, crc32 from content where message_id = :messageId and ${isKept} order by chunk`,
      { messageId },
    )
    return rows.map(({ bytes }) => bytes)
  }

  /** The same, chunk by chunk, so that no more of it is in memory than is on its way. Ends early if it is removed meanwhile. */
  async *chunks(messageId: string): AsyncGenerator<Uint8Array, void, undefined> {
    for (let chunk = 0; ; chunk++) {
      const [row] = await this.#db.slowRead<{ bytes: Uint8Array }>(
        `select bytes, crc32 from content where message_id = :messageId and chunk = :chunk and ${isKept}`,
        { messageId, chunk },
      )
      if (!row) return
      yield row.bytes
    }
  }

  /** A page of the delivery attempts of a message, newest first. Uses the index attempt_message. */
  attempts(messageId: string, page: Page): Promise<AttemptRow[]> {
    const { condition, order, params } = pageClause(page, 'attempt.id')
    return this.#db.slowRead<AttemptRow>(
      `select attempt.id, attempt.message_id, recipient.forward_path, attempt.started_at, attempt.duration_ms, attempt.outcome,
              attempt.mx_host, attempt.address, attempt.source_address, attempt.tls, attempt.selectors, attempt.reply, attempt.smtp_code,
              attempt.enhanced_status, attempt.transcript
         from attempt join recipient on recipient.id = attempt.recipient_id
        where attempt.message_id = :messageId and ${condition} ${order}`,
      { messageId, ...params },
    )
  }

  /** A page of the event log of a message, newest first. Uses the index event_message. */
  events(messageId: string, page: Page<number>): Promise<EventRow[]> {
    const { condition, order, params } = pageClause(page, 'seq')
    return this.#db.slowRead<EventRow>(
      `select seq, id, type, sandbox, created_at, data from event where message_id = :messageId and ${condition} ${order}`,
      { messageId, ...params },
    )
  }

  /** The position in the log of an event of this message. */
  async placeOfEvent(messageId: string, eventId: string): Promise<number | undefined> {
    const [row] = await this.#db.slowRead<{ seq: number }>('select seq from event where id = :eventId and message_id = :messageId', {
      eventId,
      messageId,
    })
    return row?.seq
  }
}
