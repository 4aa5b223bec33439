import { newId } from '../../platform/id.ts'
import type { Row, Statement } from '../../platform/store/database.ts'
import type { EventType } from './event-type.ts'

/** What an event is about. */
export interface EventSubject {
  accountId: string
  messageId: string
  recipientId: string
  /** The recipient's bare address. */
  to: string
  /** The message's subject, decoded. */
  subject: string
  sandbox: boolean
}

/** What happened. `at`: when, epoch ms; by default when it is recorded. */
export interface Happening {
  type: EventType
  data: Record<string, string | number | boolean | null>
  at?: number
}

/** A recipient joined with its message. */
export interface SubjectRow extends Row {
  message_id: string
  account_id: string
  forward_path: string
  subject: string
  sandbox: number
}

export const subjectOfRow = (recipientId: string, row: SubjectRow): EventSubject => ({
  accountId: row.account_id,
  messageId: row.message_id,
  recipientId,
  to: row.forward_path,
  subject: row.subject,
  sandbox: row.sandbox === 1,
})

/**
 * Appends an event. Write it in the same batch as the state it describes. In what receivers get, `data` follows `email_id`, `to` and
 * `subject`, in the order of its keys.
 */
export const recordEvent = (about: EventSubject, type: EventType, data: Happening['data'], now: number): Statement =>
  recordHappening(about, { type, data }, now)

const columns = 'id, account_id, message_id, recipient_id, type, sandbox, created_at, data'
const values = ':id, :accountId, :messageId, :recipientId, :type, :sandbox, :at, :data'
const insertEvent = `insert into event (${columns}) values (${values})`
/** Only where there is something to say of a machine: a column more costs every other event. */
const insertJudged = `insert into event (${columns}, bot) values (${values}, :bot)`

/** Appends an event that may have happened earlier. Ids have the order of the log all the same. */
export function recordHappening(about: EventSubject, happening: Happening, now: number): Statement {
  const { type, data, at = now } = happening
  const { accountId, messageId, recipientId, to, subject, sandbox } = about
  const params = {
    id: newId('evt', now),
    accountId,
    messageId,
    recipientId,
    type,
    sandbox: sandbox ? 1 : 0,
    at,
    data: JSON.stringify({ email_id: messageId, to, subject, ...data }),
  }
  const { bot } = data
  return bot === undefined ? { sql: insertEvent, params } : { sql: insertJudged, params: { ...params, bot: bot === true ? 1 : 0 } }
}
