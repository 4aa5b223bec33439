import { newId } from '../../src/platform/id.ts'
import {
  claimDue,
  insertRecipient,
  type ClaimedRow,
  type Lane,
  type NewRecipient,
  type QueuedMessage,
  type QueuedRecipient,
} from '../../src/mail-out/queue/queue-store.ts'
import { queuedRecipientOf, readMessage } from '../../src/mail-out/queue/queued-mail.ts'
import type { Database, Row } from '../../src/platform/store/database.ts'

export interface Message {
  accountId?: string
  sandbox?: boolean
  expiresIn?: number | null
  scheduledAt?: number | null
  /** Without content it cannot be delivered. */
  content?: string | null
}

const retryPeriodMs = 48 * 3_600_000

export const insertAccount = (db: Database, status = 'active') =>
  db.write([
    { sql: `insert into account (id, name, plan, status, created_at) values ('acc_1', 'one', 'free', :status, 0)`, params: { status } },
  ])

/** Recipients that some node has in hand once all is written that was handed over before: a read of its own may come ahead of that. */
export async function recipientsInHand(db: Pick<Database, 'write'>): Promise<Row[]> {
  const [read] = await db.write([{ sql: 'select id from recipient where owner is not null' }])
  return read?.rows ?? []
}

/** A message that waits in the queue since `now`, or from `scheduledAt` on. Returns its id. */
export async function insertQueued(
  db: Database,
  now: number,
  message: Message = {},
  recipients: Partial<NewRecipient>[] = [{}],
): Promise<string> {
  const { accountId = 'acc_1', sandbox = false, expiresIn = null, scheduledAt = null, content = 'Hello' } = message
  const messageId = newId('em', now)
  const dueAt = scheduledAt ?? now
  await db.write([
    {
      sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                                 message_id_header, size, body_type, smtputf8, tags, metadata, expires_in, scheduled_at, created_at)
            values (:messageId, :accountId, 'api', :sandbox, '', '[]', '[]', '[]', 'Hello', '', :size, '7bit', 0, '[]', '{}', :expiresIn,
                    :scheduledAt, 0)`,
      params: { messageId, size: Buffer.byteLength(content ?? ''), accountId, sandbox: sandbox ? 1 : 0, expiresIn, scheduledAt },
    },
    ...(content === null
      ? []
      : [
          {
            sql: 'insert into content (message_id, chunk, bytes) values (:messageId, 0, :bytes)',
            params: { messageId, bytes: Buffer.from(content) },
          },
        ]),
    ...recipients.map((recipient) =>
      insertRecipient({
        id: newId('rcp', now),
        message_id: messageId,
        account_id: accountId,
        forward_path: 'ann@rcpt.example',
        destination: 'rcpt.example',
        type: 'to',
        notify: null,
        orcpt: null,
        state: scheduledAt === null ? 'queued' : 'scheduled',
        due_at: dueAt,
        urgent: 0,
        owner: null,
        expires_at: dueAt + retryPeriodMs,
        ...recipient,
      }),
    ),
  ])
  return messageId
}

/** Takes what is due of a message in hand, as the queue does. */
export async function takeInHand(
  db: Database,
  messageId: string,
  { owner, now }: { owner: string; now: number },
): Promise<{ message: QueuedMessage; recipients: QueuedRecipient[] }> {
  const recipients: QueuedRecipient[] = []
  const lanes = await db.read<Lane & Row>('select distinct destination, account_id, urgent from recipient where message_id = :messageId', {
    messageId,
  })
  for (const lane of lanes) {
    const [claimed] = await db.write(claimDue(lane, { owner, now, limit: 1_000, skip: 0 }))
    recipients.push(...((claimed?.rows ?? []) as ClaimedRow[]).map((row) => queuedRecipientOf(row, lane)))
  }
  return { message: await readMessage(db, messageId), recipients: recipients.toSorted((a, b) => (a.id < b.id ? -1 : 1)) }
}

/** The recipients of all messages in the order of their ids, with these columns. */
export const recipientRows = (db: Database, columns: string): Promise<Row[]> => db.read(`select ${columns} from recipient order by id`)

export const eventTypes = async (db: Database): Promise<string[]> =>
  (await db.read<{ type: string }>('select type from event order by seq')).map(({ type }) => type)
