import { newId } from '../id.ts'
import type { Row, Statement } from '../store/database.ts'
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
export function recordEvent(
  about: EventSubject,
  type: EventType,
  data: Record<string, string | number | boolean | null>,
  now: number,
): Statement {
  const { accountId, messageId, recipientId, to, subject, sandbox } = about
  return {
    sql: `insert into event (id, account_id, message_id, recipient_id, type, sandbox, created_at, data)
          values (:id, :accountId, :messageId, :recipientId, :type, :sandbox, :now, :data)`,
    params: {
      id: newId('evt', now),
      accountId,
      messageId,
      recipientId,
      type,
      sandbox: sandbox ? 1 : 0,
      now,
      data: JSON.stringify({ email_id: messageId, to, subject, ...data }),
    },
  }
}
