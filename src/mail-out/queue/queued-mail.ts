import type { MessageRow } from '../../mail/message/message-store.ts'
import type { Tag } from '../../mail/message/send-limits.ts'
import { storedTracking } from '../../mail/message/tracking-options.ts'
import { storedTransfer } from '../../mail/message/transfer-options.ts'
import { joinShared, noteShared } from '../../platform/shared-memory.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Claimable, Lane, PastAttempts, QueuedMessage, QueuedRecipient } from './queue-store.ts'

/** Reads the message of claimed recipients. */
export async function readMessage(db: Database, id: string): Promise<QueuedMessage> {
  const [row] = await db.read<MessageRow>('select * from message where id = :id', { id })
  if (!row) throw new Error(`message ${id} has recipients but no row`)
  return queuedMessageOf(row)
}

/**
 * Reads all bytes of a message into shared memory.
 * @throws DamagedError if they are not what was stored
 */
export async function readContent(db: Database, { id, size }: QueuedMessage): Promise<Uint8Array> {
  const chunks = await db.read<{ bytes: Uint8Array }>('select bytes, crc32 from content where message_id = :id order by chunk', { id })
  const found = chunks.reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (chunks.length === 0 || found !== size) throw db.damaged('content', `${found} of the ${size} bytes of message ${id} are found`)
  return joined(chunks.map(({ bytes }) => bytes))
}

export const queuedMessageOf = (row: MessageRow): QueuedMessage => ({
  id: row.id,
  accountId: row.account_id,
  domainId: row.domain_id,
  sandbox: row.sandbox === 1,
  subject: row.subject,
  size: row.size,
  bodyType: row.body_type,
  smtputf8: row.smtputf8 === 1,
  nullReversePath: row.source === 'smtp' && row.reverse_path === null,
  feedbackTag: (JSON.parse(row.tags) as Tag[])[0]?.value ?? null,
  unsubscribeTopic: row.unsubscribe_topic,
  tracking: storedTracking(row.tracking),
  isScheduled: row.scheduled_at !== null,
  neverLate: row.expires_in !== null,
  transfer: storedTransfer(row.transfer),
  firstDueAt: row.scheduled_at ?? row.created_at,
})

/** A new or claimed recipient. Reading its message also determines whether it is suppressed. */
export const queuedRecipientOf = (row: Claimable & Partial<PastAttempts>, lane: Lane): QueuedRecipient => ({
  id: row.id,
  forwardPath: row.forward_path,
  destination: row.destination,
  lane,
  attempts: row.attempts ?? 0,
  dueAt: row.due_at,
  expiresAt: row.expires_at,
  lastResponse: row.last_response ?? null,
  smtpCode: row.smtp_code ?? null,
  enhancedStatus: row.enhanced_status ?? null,
  nxdomainSince: row.absent_since ?? null,
  suppressed: false,
})

/** Joins chunks into one piece of shared memory. Most messages have one chunk, which is not copied. */
function joined(chunks: Uint8Array[]): Uint8Array {
  const [first] = chunks
  if (first && chunks.length === 1 && first.buffer instanceof SharedArrayBuffer) return first
  const whole = joinShared(chunks)
  // The chunks were shared memory too.
  noteShared(whole.length)
  return whole
}
