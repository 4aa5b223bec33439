import { recordEvent } from '../../mail/event/event-log.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { MessageRow } from '../../mail/message/message-store.ts'
import { authorTerms, insertTerms, recipientTerms, removeTerms } from '../../mail/message/search-terms.ts'
import { ConflictError, type Row } from '../../platform/store/database.ts'
import { erasedDomain, isErasedAddress } from '../../mail/suppression/erased-address.ts'
import { suppressionAddress } from '../../mail/suppression/suppression-address.ts'
import { erasedMessage, messageTexts, type Redaction } from './erased-text.ts'
import { attemptChanges, deliveryChanges, eventChanges, returnedMailChanges } from './erase-message-parts.ts'
import { change, isWithin, writeChanges, type Change, type Erasing } from './erasing.ts'

/** `clean`: did not name the address; `in_hand`: being worked on, so check it again. */
type MessageErasure = 'clean' | 'changed' | 'in_hand'

interface RecipientRow extends Row {
  id: string
  forward_path: string
  orcpt: string | null
  last_response: string | null
  due_at: number | null
  /** The node that has it in hand; null if none has. */
  node: string | null
}

/** Chunks of content per commit, all of which are overwritten. */
const chunksAtOnce = 8

/**
 * Erases an address from a message and everything that belongs to it. Cancels mail waiting for the address. Deletes the content once nobody
 * else waits for it. Keeps the row, so that counts and the log stay consistent. Idempotent.
 */
export async function eraseMessage(id: string, erasing: Erasing, recipientIds: Set<string>): Promise<MessageErasure> {
  const { db, forms, erased } = erasing
  const [message] = await db.read<MessageRow>('select * from message where id = :id', { id })
  if (!message || !isWithin(erasing.scope, { accountId: message.account_id, isSandbox: message.sandbox === 1 })) return 'clean'
  const recipients = await db.read<RecipientRow>(
    `select id, forward_path, orcpt, last_response, due_at, (select n.name from node n where n.name = recipient.owner) as node
       from recipient where message_id = :id order by id`,
    { id },
  )
  const theirs = recipients.filter(({ forward_path: address }) => suppressionAddress(address) === forms.address || address === erased)
  for (const { id: recipientId } of theirs) recipientIds.add(recipientId)
  if (theirs.some((recipient) => recipient.node !== null)) return 'in_hand'
  const isAllTheirs =
    recipients.length > 0 && recipients.every((recipient) => theirs.includes(recipient) || isErasedAddress(recipient.forward_path))
  const about = { messageId: id, accountId: message.account_id, recipientIds: theirs.map((recipient) => recipient.id) }
  const redaction = { forms, erased, isAllTheirs }
  const deliveries = await deliveryChanges(erasing, about, isAllTheirs)
  if (deliveries === 'in_hand') return 'in_hand'
  const changes = [
    ...cancelWaiting(
      message,
      theirs.filter(({ due_at: dueAt }) => dueAt !== null),
      erasing,
    ),
    ...(await eventChanges(erasing, about, redaction)),
    ...deliveries,
    ...(await attemptChanges(erasing, about)),
    ...(await returnedMailChanges(erasing, about)),
    ...messageChanges(message, redaction),
  ]
  // The address itself goes last, so that after an interruption the message is found again.
  const last = recipients.flatMap((recipient) => recipientChanges(recipient, theirs.includes(recipient), erasing))
  try {
    await writeChanges(erasing, changes)
    const isOver = recipients.every((recipient) => recipient.due_at === null || theirs.includes(recipient))
    const hadContent = (theirs.length > 0 || changes.length > 0) && (await eraseContent(id, erasing, isOver))
    const notices = await eraseNotices(id, erasing, about.recipientIds)
    await writeChanges(erasing, last)
    return changes.length > 0 || last.length > 0 || hadContent || notices ? 'changed' : 'clean'
  } catch (error) {
    // The queue claimed it meanwhile.
    if (error instanceof ConflictError) return 'in_hand'
    throw error
  }
}

/** Erases our own mail about mail to the address, with everything in it. */
async function eraseWhole(id: string, erasing: Erasing): Promise<boolean> {
  const { db, forms, erased } = erasing
  const [message] = await db.read<MessageRow>('select * from message where id = :id', { id })
  if (!message) return false
  const waiting = await db.read('select id from recipient where message_id = :id and due_at is not null limit 1', { id })
  const redaction = { forms, erased, isAllTheirs: true }
  const about = { messageId: id, accountId: message.account_id, recipientIds: [] }
  const changes = [...(await eventChanges(erasing, about, redaction)), ...messageChanges(message, redaction)]
  await writeChanges(erasing, changes)
  return (await eraseContent(id, erasing, waiting.length === 0)) || changes.length > 0
}

function cancelWaiting(message: MessageRow, waiting: RecipientRow[], { clock, erased }: Erasing): Change[] {
  const now = clock.now()
  return waiting.flatMap(({ id }) => [
    {
      counted: 'canceled_recipients' as const,
      statement: {
        sql: `update recipient set state = 'canceled', due_at = null, held = 0, owner = null
               where id = :id and due_at is not null and (owner is null or owner not in (select name from node))`,
        params: { id },
        expect: 1,
      },
    },
    {
      counted: null,
      statement: recordEvent(
        { accountId: message.account_id, messageId: message.id, recipientId: id, to: erased, subject: '', sandbox: message.sandbox === 1 },
        'email.canceled',
        { canceled_at: isoTime(now) },
        now,
      ),
    },
  ])
}

const removeTag = 'delete from message_tag where account_id = :accountId and name = :name and value = :value and message_id = :id'

function messageChanges(row: MessageRow, redaction: Redaction): Change[] {
  const { id, account_id: accountId } = row
  const after = erasedMessage(row, redaction)
  if (Object.entries(after).every(([column, value]) => row[column as keyof MessageRow] === value)) return []
  const tags = (JSON.parse(row.tags) as { name: string; value: string }[]).filter(
    ({ value }) => redaction.isAllTheirs || redaction.forms.names(value),
  )
  return [
    ...tags.map(({ name, value }) => change(null, removeTag, { accountId, name, value, id })),
    { counted: null, statement: removeTerms(authorTerms(':id'), { id }) },
    change('emails', `update message set ${messageTexts.map((column) => `${column} = :${column}`).join(', ')} where id = :id`, {
      id,
      ...after,
    }),
    { counted: null, statement: insertTerms(authorTerms(':id'), { id }) },
  ]
}

function recipientChanges(row: RecipientRow, isTheirs: boolean, { forms, erased }: Erasing): Change[] {
  const without = (text: string | null): string | null => (text === null ? null : forms.without(text, erased))
  const [orcpt, lastResponse] = isTheirs ? [null, null] : [without(row.orcpt), without(row.last_response)]
  if (
    isTheirs
      ? row.forward_path === erased && row.orcpt === null && row.last_response === null
      : orcpt === row.orcpt && lastResponse === row.last_response
  )
    return []
  const params = { id: row.id, orcpt, lastResponse }
  if (!isTheirs) return [change(null, 'update recipient set orcpt = :orcpt, last_response = :lastResponse where id = :id', params)]
  return [
    { counted: null, statement: removeTerms(recipientTerms(':id'), params) },
    change(
      'recipients',
      `update recipient
          set forward_path = :erased, destination = '${erasedDomain}', orcpt = :orcpt, last_response = :lastResponse where id = :id`,
      { ...params, erased },
    ),
    { counted: null, statement: insertTerms(recipientTerms(':id'), params) },
    change(null, 'delete from hit where recipient_id = :id', { id: row.id }),
    change(null, 'delete from shared_hit where recipient_id = :id', { id: row.id }),
  ]
}

/** False if there is none. Content that others still wait for is deleted later. */
async function eraseContent(messageId: string, { db, counts }: Erasing, isOver: boolean): Promise<boolean> {
  const [found] = await db.read<{ chunks: number }>('select count(*) as chunks from content where message_id = :messageId', { messageId })
  if (!found || found.chunks === 0) return false
  if (isOver) {
    await removeContent(db, messageId, found.chunks)
    counts.contents++
    return true
  }
  const sql = 'insert into content_to_erase (message_id) values (:messageId) on conflict (message_id) do nothing'
  const [written] = await db.write([{ sql, params: { messageId } }])
  counts.contents_waiting += written?.changes ?? 0
  return written?.changes === 1
}

/** Deletes the last chunks first, because a message is found by its first chunk. */
export async function removeContent(db: Erasing['db'], messageId: string, chunks: number): Promise<void> {
  for (let from = chunks; from > 0;) {
    from = Math.max(0, from - chunksAtOnce)
    await db.write([{ sql: 'delete from content where message_id = :messageId and chunk >= :from', params: { messageId, from } }])
  }
}

/** Notices to submitters about mail to the address. */
async function eraseNotices(messageId: string, erasing: Erasing, recipientIds: string[]): Promise<boolean> {
  const notices = await erasing.db.read<{ recipient_id: string; notice_message_id: string }>(
    'select recipient_id, notice_message_id from notice where message_id = :messageId and notice_message_id is not null',
    { messageId },
  )
  let isChanged = false
  for (const notice of notices.filter((row) => recipientIds.includes(row.recipient_id))) {
    if (await eraseWhole(notice.notice_message_id, erasing)) isChanged = true
  }
  return isChanged
}
