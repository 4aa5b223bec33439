import { idFloor } from '../id.ts'
import type { Database, Statement } from '../store/database.ts'
import { removeInPieces } from '../store/remove-in-pieces.ts'

/** How long things are kept, ms. */
interface Retention {
  /** Content and attempts, from the moment the last recipient's state became final. */
  contentMs: number
  /** Events, messages, recipients, webhook deliveries. */
  eventMs: number
}

/** True of a message all of whose recipients have been in a final state since `cutoff`. */
const isFinal = (messageId: string): string => `not exists (
  select 1 from recipient r where r.message_id = ${messageId}
     and (r.due_at is not null or coalesce(r.bounced_at, r.delivered_at, r.sent_at, 0) > :cutoff))`

/**
 * Removes what has been kept long enough, a bounded piece at a time; ids begin with their time, so what is old is
 * found by its key. Events are removed from the old end only, and the newest one stays: readers' cursors count on it.
 */
export async function sweep(db: Pick<Database, 'write'>, retention: Retention, now: number): Promise<void> {
  const { contentMs, eventMs } = retention
  for (const step of [
    removeContent(now - contentMs),
    removeAttempts(now - contentMs),
    removeEvents(now - eventMs),
    removeWebhookDeliveries(now - eventMs),
    removeMessages(now - eventMs),
    [removeIdempotencyKeys(now)],
  ]) {
    await removeInPieces(db, step)
  }
}

/** Content whose message is still on its way in has no recipients yet. */
const removeContent = (cutoff: number): Statement[] => [
  {
    sql: `delete from content where message_id in (
            select c.message_id from content c
             where c.chunk = 0 and c.message_id < :before and ${isFinal('c.message_id')}
               and not exists (select 1 from upload u where u.message_id = c.message_id)
             order by c.message_id limit :rows)`,
    params: { before: idFloor('em', cutoff + 1), cutoff },
  },
]

const removeAttempts = (cutoff: number): Statement[] => [
  {
    sql: `delete from attempt where id in (
            select a.id from attempt a
             where a.id < :before and ${isFinal('a.message_id')}
             order by a.id limit :rows)`,
    params: { before: idFloor('att', cutoff + 1), cutoff },
  },
]

const removeEvents = (cutoff: number): Statement[] => [
  {
    sql: `delete from event where seq in (
            select seq from event where id < :before and seq < (select max(seq) from event) order by seq limit :rows)`,
    params: { before: idFloor('evt', cutoff) },
  },
]

function removeWebhookDeliveries(cutoff: number): Statement[] {
  const params = { before: idFloor('whd', cutoff) }
  const old = 'select id from webhook_delivery where id < :before and next_attempt_at is null order by id limit :rows'
  return [
    { sql: `delete from webhook_attempt where delivery_id in (${old})`, params },
    { sql: `delete from webhook_delivery where id in (${old})`, params },
  ]
}

function removeMessages(cutoff: number): Statement[] {
  const params = { before: idFloor('em', cutoff + 1), cutoff }
  const old = `select m.id from message m where m.id < :before and ${isFinal('m.id')} order by m.id limit :rows`
  return [
    ...['message_tag', 'content', 'attempt', 'notice'].map((table) => ({ sql: `delete from ${table} where message_id in (${old})`, params })),
    // The recipients last but one: that a message is final is read from them, and of a message without any it is true.
    { sql: `delete from recipient where message_id in (${old})`, params },
    { sql: `delete from message where id in (${old})`, params },
  ]
}

const removeIdempotencyKeys = (now: number): Statement => ({
  sql: `delete from idempotency where (account_id, operation, key) in (
          select account_id, operation, key from idempotency where expires_at <= :now limit :rows)`,
  params: { now },
})
