import type { EventType } from '../../mail/event/event-type.ts'
import type { LogStep } from '../../mail/event/log-reader.ts'
import type { RecipientState } from '../../mail-out/queue/recipient-state.ts'
import type { Database, Row, Statement } from '../../platform/store/database.ts'
import type { NoticeAction } from './notice.ts'

/** A recipient with its message, as notices need them. */
export interface ToldRow extends Row {
  recipient_id: string
  forward_path: string
  state: RecipientState
  notify: string | null
  orcpt: string | null
  expires_at: number
  last_response: string | null
  smtp_code: number | null
  enhanced_status: string | null
  delivered_at: number | null
  message_id: string
  account_id: string
  reverse_path: string
  subject: string
  message_id_header: string
  size: number
  smtputf8: number
  envid: string | null
  ret: string | null
  created_at: number
  scheduled_at: number | null
  transfer: string | null
}

/** An event that may cause a notice. */
export interface NewsRow extends ToldRow {
  seq: number
  type: EventType
  data: string
}

/** A warning that is due. `notices_since` is null if the account has turned notices off. */
interface DueWarningRow extends ToldRow {
  notices_since: number | null
}

const toldColumns = `r.id as recipient_id, r.forward_path, r.state, r.notify, r.orcpt, r.expires_at, r.last_response, r.smtp_code,
  r.enhanced_status, r.delivered_at, m.id as message_id, m.account_id, m.reverse_path, m.subject, m.message_id_header, m.size, m.smtputf8, m.envid, m.ret,
  m.created_at, m.scheduled_at, m.transfer`

/** True of a policy that says that an account wants notices, about what happens after `since`. */
export const wantsNotices = (policy: string): string => `${policy}.field = 'delivery_notices' and ${policy}.value = 'true'`

/**
 * The events of a step that are about mail submitted over SMTP with a reverse-path, in accounts that want notices. Reads successes only if
 * requested, which is rare.
 */
export const newsBetween = (db: Database, { from, to }: LogStep): Promise<NewsRow[]> =>
  db.slowRead<NewsRow>(
    `select e.seq, e.type, e.data, ${toldColumns}
       from event e
       join account_policy p on p.owner_id = e.account_id and ${wantsNotices('p')}
       join message m on m.id = e.message_id
       join recipient r on r.id = e.recipient_id
      where e.seq > :from and e.seq <= :to and e.seq > p.since and e.sandbox = 0
        and m.source = 'smtp' and m.reverse_path is not null
        and (e.type in ('email.bounced', 'email.deferred')
             or (e.type in ('email.delivered', 'email.relayed') and r.notify like '%SUCCESS%'))
      order by e.seq`,
    { from, to },
  )

/** The notices sent or planned for a message's recipients, as `rcp_… failed`. */
export async function alreadyTold(db: Database, messageId: string): Promise<Set<string>> {
  const rows = await db.read<{ recipient_id: string; action: NoticeAction }>(
    'select recipient_id, action from notice where message_id = :messageId',
    { messageId },
  )
  return new Set(rows.map((row) => `${row.recipient_id} ${row.action}`))
}

interface NewNotice {
  recipientId: string
  action: NoticeAction
  messageId: string
  /** The message that carries the notice. */
  noticeMessageId: string
}

/** Records that a recipient was reported on. Fails with a `UniqueError` if it already was. */
export const insertNotice = (notice: NewNotice): Statement => ({
  sql: `insert into notice (recipient_id, action, message_id, notice_message_id)
        values (:recipientId, :action, :messageId, :noticeMessageId)`,
  params: { ...notice },
})

/** Plans a warning, unless there is or was one. */
export const planWarning = (recipientId: string, messageId: string, dueAt: number): Statement => ({
  sql: `insert into notice (recipient_id, action, message_id, due_at)
        values (:recipientId, 'delayed', :messageId, :dueAt)
        on conflict (recipient_id, action) do nothing`,
  params: { recipientId, messageId, dueAt },
})

/** The warnings that are due, oldest first. Uses the partial index notice_due. */
export const dueWarnings = (db: Database, now: number, limit: number): Promise<DueWarningRow[]> =>
  db.read<DueWarningRow>(
    `select ${toldColumns}, p.since as notices_since
       from notice n
       join recipient r on r.id = n.recipient_id
       join message m on m.id = r.message_id
       left join account_policy p on p.owner_id = m.account_id and ${wantsNotices('p')}
      where n.due_at is not null and n.due_at <= :now
      order by n.due_at, n.recipient_id limit :limit`,
    { now, limit },
  )

/** Null if none is planned. Uses the partial index notice_due. */
export async function firstWarningAt(db: Database): Promise<number | null> {
  const [row] = await db.read<{ due_at: number | null }>('select min(due_at) as due_at from notice where due_at is not null')
  return row?.due_at ?? null
}

/** Records the message that carries the warning. */
export const settleWarning = (recipientId: string, noticeMessageId: string): Statement => ({
  sql: `update notice set due_at = null, notice_message_id = :noticeMessageId
         where recipient_id = :recipientId and action = 'delayed' and due_at is not null`,
  params: { recipientId, noticeMessageId },
  expect: 1,
})

/** Removes a warning that is no longer wanted. */
export const dropWarning = (recipientId: string): Statement => ({
  sql: `delete from notice where recipient_id = :recipientId and action = 'delayed' and due_at is not null`,
  params: { recipientId },
})

/** What notices show of an attempt. */
export interface LastAttempt extends Row {
  recipient_id: string
  mx_host: string | null
  /** Epoch, ms. */
  started_at: number
}

/** The last attempt for each recipient of a message; empty once attempts were deleted. */
export async function lastAttempts(db: Database, messageId: string): Promise<Map<string, LastAttempt>> {
  const attempts = await db.slowRead<LastAttempt>(
    'select recipient_id, mx_host, started_at from attempt where message_id = :messageId order by id',
    { messageId },
  )
  return new Map(attempts.map((attempt) => [attempt.recipient_id, attempt]))
}

/** The first chunk of a message's content; null if it was deleted. */
export async function firstChunk(db: Database, messageId: string): Promise<Uint8Array | null> {
  const [row] = await db.read<{ bytes: Uint8Array }>('select bytes, crc32 from content where message_id = :messageId and chunk = 0', {
    messageId,
  })
  return row?.bytes ?? null
}
