import type { Row } from '../../platform/store/database.ts'
import { erasedEventData, type Redaction } from './erased-text.ts'
import { change, type Change, type Erasing } from './erasing.ts'

/** A message, and which of its recipients have the erased address. */
interface AboutMessage {
  messageId: string
  accountId: string
  recipientIds: string[]
}

interface EventRow extends Row {
  seq: number
  recipient_id: string | null
  data: string
}

/** The events of the erased recipients, and others that name the address. */
export async function eventChanges(
  { db, forms }: Erasing,
  { messageId, recipientIds }: AboutMessage,
  redaction: Redaction,
): Promise<Change[]> {
  const pattern = redaction.isAllTheirs ? '%' : forms.pattern
  const rows = new Map<number, EventRow>()
  for (const recipientId of [...recipientIds, '']) {
    const found = await db.read<EventRow>(
      'select seq, recipient_id, data from event where message_id = :messageId and (recipient_id = :recipientId or lower(data) like :pattern)',
      { messageId, recipientId, pattern },
    )
    for (const row of found) rows.set(row.seq, row)
  }
  return [...rows.values()].flatMap(({ seq, recipient_id: recipientId, data }) => {
    const after = erasedEventData(data, redaction, recipientId !== null && recipientIds.includes(recipientId))
    return after === data ? [] : [change('events', 'update event set data = :data where seq = :seq', { seq, data: after })]
  })
}

interface DeliveryRow extends Row {
  id: string
  /** The node that has it in hand; null if none has. */
  node: string | null
}

/** Webhook posts about the erased recipients, or that name the address; pending ones are canceled. */
export async function deliveryChanges({ db, forms }: Erasing, about: AboutMessage, isAllTheirs: boolean): Promise<Change[] | 'in_hand'> {
  const { messageId, recipientIds } = about
  const pattern = isAllTheirs ? '%' : forms.pattern
  const rows = new Map<string, DeliveryRow>()
  for (const recipientId of [...recipientIds, '']) {
    const found = await db.read<DeliveryRow>(
      `select d.id, (select n.name from node n where n.name = d.owner) as node
         from event e join webhook w on w.account_id = e.account_id join webhook_delivery d on d.webhook_id = w.id and d.event_id = e.id
        where e.message_id = :messageId and (e.recipient_id = :recipientId or lower(d.body) like :pattern)`,
      { messageId, recipientId, pattern },
    )
    for (const row of found) rows.set(row.id, row)
  }
  const deliveries = [...rows.values()]
  if (deliveries.some((delivery) => delivery.node !== null)) return 'in_hand'
  return deliveries.flatMap(({ id }) => [
    change(null, 'delete from webhook_attempt where delivery_id = :id', { id }),
    change('webhook_deliveries', 'delete from webhook_delivery where id = :id', { id }),
  ])
}

interface AttemptRow extends Row {
  id: string
  reply: string | null
  transcript: string
}

/** Attempts for the erased recipients are deleted; others no longer name the address. */
export async function attemptChanges({ db, forms, erased }: Erasing, { messageId, recipientIds }: AboutMessage): Promise<Change[]> {
  const changes: Change[] = []
  for (const recipientId of recipientIds) {
    const found = await db.read<{ id: string }>('select id from attempt where message_id = :messageId and recipient_id = :recipientId', {
      messageId,
      recipientId,
    })
    changes.push(...found.map(({ id }) => change('attempts', 'delete from attempt where id = :id', { id })))
  }
  const others = await db.read<AttemptRow & { recipient_id: string }>(
    `select id, recipient_id, reply, transcript from attempt
      where message_id = :messageId and lower(coalesce(reply, '') || transcript) like :pattern`,
    { messageId, pattern: forms.pattern },
  )
  for (const { id, recipient_id: recipientId, reply, transcript } of others) {
    const after = { reply: reply === null ? null : forms.without(reply, erased), transcript: forms.without(transcript, erased) }
    if (recipientIds.includes(recipientId) || (after.reply === reply && after.transcript === transcript)) continue
    changes.push(change('attempts', 'update attempt set reply = :reply, transcript = :transcript where id = :id', { id, ...after }))
  }
  return changes
}

/** Returned mail, as far as it may name somebody. */
export interface ReturnedMailRow extends Row {
  id: string
  account_id: string | null
  recipient_id: string | null
  message_id: string | null
  content_id: string
  reverse_path: string | null
  summary: string | null
  /** 1 if its content is stored. */
  has_content: number
}

export const returnedMailTexts = `id, account_id, recipient_id, message_id, content_id, reverse_path, summary,
  (select count(*) from returned_mail_content c where c.id = returned_mail.content_id) as has_content`

/** The returned mail about a message. Deletes its content, because that is mostly the message itself. */
export async function returnedMailChanges(erasing: Erasing, { messageId, recipientIds }: AboutMessage): Promise<Change[]> {
  const rows = await erasing.db.read<ReturnedMailRow>(`select ${returnedMailTexts} from returned_mail where message_id = :messageId`, {
    messageId,
  })
  return rows.flatMap((row) => [
    ...eraseReturnedMail(row, row.recipient_id !== null && recipientIds.includes(row.recipient_id), erasing),
    ...(recipientIds.length > 0 ? removeReturnedMailContent(row) : []),
  ])
}

/** Removes the address from what returned mail says; if it is about the erased recipient, removes everything. */
export function eraseReturnedMail(row: ReturnedMailRow, isTheirs: boolean, { forms, erased }: Erasing): Change[] {
  const without = (text: string | null): string | null => (text === null || isTheirs ? null : forms.without(text, erased))
  const after = { reversePath: without(row.reverse_path), summary: without(row.summary) }
  if (after.reversePath === row.reverse_path && after.summary === row.summary) return []
  const sql = 'update returned_mail set reverse_path = :reversePath, summary = :summary where id = :id'
  return [change('reports', sql, { id: row.id, ...after })]
}

/** The original bytes. */
export const removeReturnedMailContent = ({ content_id: id, has_content: hasContent }: ReturnedMailRow): Change[] =>
  hasContent === 0 ? [] : [removeContentOfMail(id)]

export const removeContentOfMail = (id: string): Change => change('contents', 'delete from returned_mail_content where id = :id', { id })
