import type { WebhookEventType } from '../../mail/event/event-type.ts'
import type { RecipientType } from '../../mail/message/envelope.ts'
import type { Database, Row } from '../../platform/store/database.ts'
import type { EventDetails } from './event-details.ts'

/** An event as the log has it. */
export interface StoredEvent extends Row {
  id: string
  type: WebhookEventType
  sandbox: number
  message_id: string
  recipient_id: string | null
  created_at: number
  data: string
}

export interface AboutRow extends Row {
  header_from: string
  message_id_header: string
  tags: string
  metadata: string
  unsubscribe_topic: string | null
  size: number
  created_at: number
  type: RecipientType | null
  last_response: string | null
  attempts: number | null
  delivered_at: number | null
  opened_at: number | null
}

/** Of the writer's connection, or of the one for reports. */
type Read = Database['read']

/** What is known of an event's message and recipient; undefined where the message is gone. */
export async function messageOfEvent(event: StoredEvent, read: Read): Promise<AboutRow | undefined> {
  const [row] = await read<AboutRow>(
    `select m.header_from, m.message_id_header, m.tags, m.metadata, m.unsubscribe_topic, m.size, m.created_at,
            r.type, r.last_response, r.attempts, r.delivered_at, r.opened_at
       from message m left join recipient r on r.id = :recipientId
      where m.id = :messageId`,
    { messageId: event.message_id, recipientId: event.recipient_id },
  )
  return row
}

export const eventDetails = (event: StoredEvent, about: AboutRow | undefined): EventDetails => ({
  id: event.id,
  type: event.type,
  sandbox: event.sandbox === 1,
  data: JSON.parse(event.data) as EventDetails['data'],
  message: {
    from: about?.header_from ?? null,
    messageIdHeader: about?.message_id_header ?? null,
    tags: JSON.parse(about?.tags ?? '[]') as EventDetails['message']['tags'],
    metadata: JSON.parse(about?.metadata ?? '{}') as Record<string, string>,
    unsubscribeTopic: about?.unsubscribe_topic ?? null,
    size: about?.size ?? 0,
    createdAt: about?.created_at ?? event.created_at,
  },
  recipient: {
    id: event.recipient_id,
    type: about?.type ?? null,
    lastResponse: about?.last_response ?? null,
    attempts: about?.attempts ?? 0,
    deliveredAt: about?.delivered_at ?? null,
    openedAt: about?.opened_at ?? null,
  },
})
