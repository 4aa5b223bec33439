import type { Database, Statement } from '../../platform/store/database.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'
import { messageTerms, recipientTerms, removeTerms } from './search-terms.ts'

/** Which sandbox mail of an account to remove: one email, or all. */
interface RemovedMail {
  accountId: string
  messageId: string | null
}

/** Nobody waits for it, and no attempt is under way. */
const isOver = `not exists (select 1 from recipient r where r.message_id = message.id and (r.due_at is not null or r.owner is not null))`

const removedIds = `select id from message where account_id = :accountId and sandbox = 1
                       and (:messageId = '' or id = :messageId) and ${isOver} order by id limit :rows`
const recipientIds = `select id from recipient where message_id in (${removedIds})`

/**
 * Removes sandbox mail that has come to its end, with all that is known of it; what was posted to webhooks stays with them. The newest
 * event stays, too, because readers' cursors depend on it. Returns how many emails were removed.
 */
export function removeSandboxMail(db: Pick<Database, 'write'>, { accountId, messageId }: RemovedMail): Promise<number> {
  const params = { accountId, messageId: messageId ?? '' }
  const of = (table: string, column: string, ids: string): Statement => ({
    sql: `delete from ${table} where ${column} in (${ids})`,
    params,
  })
  return removeInPieces(db, [
    of('content', 'message_id', removedIds),
    of('attempt', 'message_id', removedIds),
    { sql: `delete from event where message_id in (${removedIds}) and seq < (select max(seq) from event)`, params },
    of('hit', 'recipient_id', recipientIds),
    of('notice', 'recipient_id', recipientIds),
    removeTerms(recipientTerms(recipientIds), params),
    removeTerms(messageTerms(removedIds), params),
    of('message_tag', 'message_id', removedIds),
    of('recipient', 'message_id', removedIds),
    of('message', 'id', removedIds),
  ])
}
