import { idFloor } from '../../platform/id.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import { eachInTurn } from '../../platform/store/each-in-turn.ts'
import { firstRowsBySize, removeInPieces } from '../../platform/store/remove-in-pieces.ts'
import { TableWalk, type WalkedTable } from '../../platform/store/table-walk.ts'
import { messageTerms, recipientTerms, removeTerms } from './search-terms.ts'

/** How long things are kept, ms. */
interface RetentionTimes {
  /** Content and attempts, counted from when the last recipient reached its final state. */
  contentMs: number
  /** Events, messages, recipients, webhook deliveries. */
  eventMs: number
}

/** How long content is kept: no longer than its message. */
export const contentKeptMs = ({ contentRetention, eventRetention }: { contentRetention: number; eventRetention: number }): number =>
  Math.min(contentRetention, eventRetention)

type ContentKey = { id: string; chunk: number }

const chunksAtOnce = 1_024

/** True if all recipients of a message have been in a final state since `cutoff`. */
const isFinal = (messageId: string): string => `not exists (
  select 1 from recipient r where r.message_id = ${messageId}
     and (r.due_at is not null or coalesce(r.bounced_at, r.delivered_at, r.sent_at, 0) > :cutoff))`

/** Its recipients are removed first. */
const isDeserted = 'not exists (select 1 from recipient r where r.message_id = message.id)'

/**
 * Removes data that is past its retention, in limited pieces. Ids begin with their time, so old rows are found by their key. The newest
 * event stays, but for what it says: readers' cursors depend on its place.
 */
export class Retention {
  readonly #db: Pick<Database, 'read' | 'write'>
  readonly #times: RetentionTimes
  readonly #contents = new TableWalk<ContentKey>({ id: '', chunk: 0 })
  readonly #attempts = new TableWalk('')
  readonly #recipients = new TableWalk('')
  readonly #notices = new TableWalk('')
  readonly #messages = new TableWalk('')

  constructor(db: Pick<Database, 'read' | 'write'>, times: RetentionTimes) {
    this.#db = db
    this.#times = times
  }

  /** `now`: epoch, ms */
  async sweep(now: number): Promise<void> {
    const db = this.#db
    const eventCutoff = now - this.#times.eventMs
    const contentCutoff = Math.max(now - this.#times.contentMs, eventCutoff)
    const batches = [
      removeEvents(eventCutoff),
      removeWebhookDeliveries(eventCutoff),
      removeLinkCounts(eventCutoff),
      removeIdempotencyKeys(now),
    ]
    await eachInTurn([
      () => this.#contents.run(db, contents(db, contentCutoff), now),
      () => this.#attempts.run(db, attempts(db, contentCutoff), now),
      () => this.#recipients.run(db, recipients(db, eventCutoff), now),
      () => this.#notices.run(db, notices(db, eventCutoff), now),
      () => this.#messages.run(db, messages(db, eventCutoff), now),
      () => db.write([emptyNewestEvent(eventCutoff)], { mayBatch: true }),
      ...batches.map((batch) => () => removeInPieces(db, batch)),
    ])
  }
}

type Reads = Pick<Database, 'read'>

/** Content whose message is still arriving has no recipients yet. */
const contents = (db: Reads, cutoff: number): WalkedTable<ContentKey> => ({
  async piece(after, wanted) {
    const rows = Math.min(wanted, chunksAtOnce)
    // On a damaged page, only the key of a row can be read: the index has it.
    const size = wanted === 1 ? '0' : 'length(bytes)'
    const found = await db.read<ContentKey & { size: number }>(
      `select message_id as id, chunk, cast(${size} as bigint) as size from content
        where (message_id, chunk) > (:id, :chunk) and message_id < :before order by message_id, chunk limit :rows`,
      { ...after, before: idFloor('em', cutoff + 1), rows },
    )
    const piece = firstRowsBySize(found, ({ size }) => size)
    const last = piece.at(-1)
    return last ? { last: { id: last.id, chunk: last.chunk }, isEnd: piece.length < rows && piece.length === found.length } : null
  },
  remove: (after, last) => [
    {
      sql: `delete from content
             where (message_id, chunk) > (:id, :chunk) and (message_id, chunk) <= (:lastId, :lastChunk) and ${isFinal('content.message_id')}
               and not exists (select 1 from upload u where u.message_id = content.message_id)`,
      params: { ...after, lastId: last.id, lastChunk: last.chunk, cutoff },
    },
  ],
})

const attempts = (db: Reads, cutoff: number): WalkedTable<string> => ({
  piece: piecesOf(db, { table: 'attempt', id: 'id', before: idFloor('att', cutoff + 1) }),
  remove: (after, last) => [
    { sql: `delete from attempt where id > :after and id <= :last and ${isFinal('attempt.message_id')}`, params: { after, last, cutoff } },
  ],
})

const recipients = (db: Reads, cutoff: number): WalkedTable<string> => ({
  piece: piecesOf(db, { table: 'recipient', id: 'id', before: idFloor('rcp', cutoff + 1) }),
  remove: (after, last) => [
    removeTerms(recipientTerms(`select id from recipient where id > :after and id <= :last and ${isFinal('recipient.message_id')}`), {
      after,
      last,
      cutoff,
    }),
    {
      sql: `delete from hit where recipient_id in (
              select id from recipient where id > :after and id <= :last and ${isFinal('recipient.message_id')})`,
      params: { after, last, cutoff },
    },
    {
      sql: `delete from recipient where id > :after and id <= :last and ${isFinal('recipient.message_id')}`,
      params: { after, last, cutoff },
    },
  ],
})

const notices = (db: Reads, cutoff: number): WalkedTable<string> => ({
  piece: piecesOf(db, { table: 'notice', id: 'recipient_id', before: idFloor('rcp', cutoff + 1) }),
  remove: (after, last) => [
    {
      sql: `delete from notice where recipient_id > :after and recipient_id <= :last
               and not exists (select 1 from recipient r where r.id = notice.recipient_id)`,
      params: { after, last },
    },
  ],
})

const messages = (db: Reads, cutoff: number): WalkedTable<string> => ({
  piece: piecesOf(db, { table: 'message', id: 'id', before: idFloor('em', cutoff + 1) }),
  remove: (after, last) => [
    removeTerms(messageTerms(`select id from message where id > :after and id <= :last and ${isDeserted}`), { after, last }),
    {
      sql: `delete from message_tag where message_id in (select id from message where id > :after and id <= :last and ${isDeserted})`,
      params: { after, last },
    },
    { sql: `delete from message where id > :after and id <= :last and ${isDeserted}`, params: { after, last } },
  ],
})

/** The ends of pieces of a table, of rows whose ids sort before `before`. */
const piecesOf =
  (db: Reads, { table, id, before }: { table: string; id: string; before: string }): WalkedTable<string>['piece'] =>
  async (after, rows) => {
    const [end] = await db.read<{ last: string | null; found: number }>(
      `select max(id) as last, count(*) as found
         from (select ${id} as id from ${table} where ${id} > :after and ${id} < :before order by ${id} limit :rows) as piece`,
      { after, before, rows },
    )
    return end && end.last !== null ? { last: end.last, isEnd: end.found < rows } : null
  }

const removeEvents = (cutoff: number): Statement[] => [
  {
    // By the key, because ids begin with their time. In the order of seq, all events would be scanned if none is old.
    sql: `delete from event where seq in (
            select seq from event where id < :before and seq < (select max(seq) from event) order by id limit :rows offset :skip)`,
    params: { before: idFloor('evt', cutoff) },
  },
]

/** It keeps its place and its time, but names nobody: the log of an idle server would tell of its last recipient for ever. */
const emptyNewestEvent = (cutoff: number): Statement => ({
  sql: `update event set account_id = '', message_id = '', recipient_id = null, data = '{}'
         where seq = (select max(seq) from event) and id < :before and data <> '{}'`,
  params: { before: idFloor('evt', cutoff) },
})

function removeWebhookDeliveries(cutoff: number): Statement[] {
  const params = { before: idFloor('whd', cutoff) }
  const old = 'select id from webhook_delivery where id < :before and next_attempt_at is null order by id limit :rows offset :skip'
  return [
    { sql: `delete from webhook_attempt where delivery_id in (${old})`, params },
    { sql: `delete from webhook_delivery where id in (${old})`, params },
  ]
}

/** Days that are past by then. */
const removeLinkCounts = (cutoff: number): Statement[] => [
  {
    sql: `delete from rollup_link where (account_id, template_id, start, link) in (
            select account_id, template_id, start, link from rollup_link where start <= :before order by start limit :rows offset :skip)`,
    params: { before: cutoff - 86_400_000 },
  },
]

const removeIdempotencyKeys = (now: number): Statement[] => [
  {
    sql: `delete from idempotency where (account_id, operation, key) in (
            select account_id, operation, key from idempotency where expires_at <= :now limit :rows offset :skip)`,
    params: { now },
  },
]
