import { hasNullReversePath, type Submission, type Tag } from '../message/submission.ts'
import { joinShared, noteShared } from '../shared-memory.ts'
import type { Database, Row } from '../store/database.ts'
import { storedTracking } from '../message/tracking-options.ts'
import type { ClaimedRow, QueuedMessage, QueuedRecipient } from './queue-store.ts'

interface MessageRow extends Row {
  id: string
  account_id: string
  domain_id: string | null
  sandbox: number
  subject: string
  size: number
  body_type: '7bit' | '8bitmime'
  smtputf8: number
  source: Submission['source']
  reverse_path: string | null
  tags: string
  unsubscribe_topic: string | null
  tracking: string | null
  expires_in: number | null
  scheduled_at: number | null
  first_due_at: number
}

/** The message of recipients that were claimed. */
export async function readMessage(db: Database, id: string): Promise<QueuedMessage> {
  const [row] = await db.read<MessageRow>(
    `select id, account_id, domain_id, sandbox, subject, size, body_type, smtputf8, tags, unsubscribe_topic, tracking, expires_in,
            scheduled_at, source, reverse_path, coalesce(scheduled_at, created_at) as first_due_at
       from message where id = :id`,
    { id },
  )
  if (!row) throw new Error(`message ${id} has recipients but no row`)
  return queuedMessageOf(row)
}

/** All bytes of a message, in shared memory. */
export async function readContent(db: Database, id: string): Promise<Uint8Array> {
  const chunks = await db.read<{ bytes: Uint8Array }>('select bytes from content where message_id = :id order by chunk', { id })
  if (chunks.length === 0) throw new Error(`message ${id} has no content`)
  return joined(chunks.map(({ bytes }) => bytes))
}

const queuedMessageOf = (row: MessageRow): QueuedMessage => ({
  id: row.id,
  accountId: row.account_id,
  domainId: row.domain_id,
  sandbox: row.sandbox === 1,
  subject: row.subject,
  size: row.size,
  bodyType: row.body_type,
  smtputf8: row.smtputf8 === 1,
  nullReversePath: hasNullReversePath({ source: row.source, reversePath: row.reverse_path }),
  feedbackTag: (JSON.parse(row.tags) as Tag[])[0]?.value ?? null,
  unsubscribeTopic: row.unsubscribe_topic,
  tracking: storedTracking(row.tracking),
  isScheduled: row.scheduled_at !== null,
  neverLate: row.expires_in !== null,
  firstDueAt: row.first_due_at,
})

/** A recipient as it was claimed; whether it is suppressed is looked up with its message. */
export const queuedRecipientOf = (row: ClaimedRow, destination: string): QueuedRecipient => ({
  id: row.id,
  forwardPath: row.forward_path,
  destination,
  attempts: row.attempts,
  dueAt: row.due_at,
  expiresAt: row.expires_at,
  lastResponse: row.last_response,
  smtpCode: row.smtp_code,
  enhancedStatus: row.enhanced_status,
  absentSince: row.absent_since,
  suppressed: false,
})

/** One piece of shared memory; most messages have one chunk and are not copied. */
function joined(chunks: Uint8Array[]): Uint8Array {
  const [first] = chunks
  if (first && chunks.length === 1 && first.buffer instanceof SharedArrayBuffer) return first
  const whole = joinShared(chunks)
  // The pieces were shared too.
  noteShared(whole.length)
  return whole
}
