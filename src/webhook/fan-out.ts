import type { Clock } from '../clock.ts'
import { newId } from '../id.ts'
import { publicEventTypes } from '../event/event-type.ts'
import { LogReader, type LogStep } from '../event/log-reader.ts'
import type { Log } from '../log.ts'
import type { Database, Row, Statement } from '../store/database.ts'
import { extendedData, standardData, webhookBody, type ExtendedData } from './webhook-body.ts'
import { insertDelivery } from './webhook-delivery-store.ts'
import type { PayloadKind } from './webhook-store.ts'

/** Events of one step: it bounds what is in memory and how long one commit takes. */
const stepSize = 500

interface DueEvent extends Row {
  seq: number
  id: string
  type: string
  message_id: string
  recipient_id: string | null
  created_at: number
  data: string
  webhook_id: string
  payload: PayloadKind
}

interface ExtensionRow extends Row {
  header_from: string
  message_id_header: string
  tags: string
  metadata: string
  type: string | null
}

/**
 * Makes the deliveries that the events in the log ask for: one per event and webhook, with the bytes to be sent. `onDue` hears
 * of each webhook that has something to do.
 */
export function fanOutReader(
  services: { db: Database; clock: Clock; log: Log; list: { someEnabled: boolean } },
  onDue: (webhookId: string) => void,
): LogReader {
  const { db, clock, list } = services
  return new LogReader(services, {
    cursor: 'webhook',
    fault: 'webhook deliveries could not be made from the event log',
    // While no webhook is enabled the cursor stands still: what comes to pass meanwhile concerns nobody.
    since: "select min(after_seq) from webhook where status = 'enabled'",
    mostEvents: stepSize,
    isWanted: () => list.someEnabled,
    async take(step) {
      const events = await eventsBetween(db, step)
      const now = clock.now()
      const statements: Statement[] = []
      for (const event of events) statements.push(insertDelivery(await deliveryOf(event, db, now), now))
      return { statements, written: () => new Set(events.map((event) => event.webhook_id)).forEach(onDue) }
    },
  })
}

const publicTypes = publicEventTypes.map((type) => `'${type}'`).join(', ')

/** A row for each event and each webhook that wants it. */
const eventsBetween = (db: Database, { from, to }: LogStep): Promise<DueEvent[]> =>
  db.read<DueEvent>(
    `select e.seq, e.id, e.type, e.message_id, e.recipient_id, e.created_at, e.data, w.id as webhook_id, w.payload
       from event e join webhook w on w.account_id = e.account_id and w.sandbox = e.sandbox
      where e.seq > :from and e.seq <= :to and e.type in (${publicTypes})
        and (w.include_bots = 1 or e.type not in ('email.opened', 'email.clicked') or e.data not like '%"bot":true%')
        and w.status = 'enabled' and e.seq > w.after_seq and w.events like '%,' || e.type || ',%'
      order by e.seq`,
    { from, to },
  )

async function deliveryOf(event: DueEvent, db: Database, now: number) {
  const { id, type, created_at: createdAt } = event
  const data = event.payload === 'extended' ? extendedData(event.data, await extensionOf(event, db)) : standardData(event.data)
  const body = webhookBody({ id, type, createdAt, data })
  return { id: newId('whd', now), webhookId: event.webhook_id, eventId: id, eventType: type, body }
}

async function extensionOf(event: DueEvent, db: Database): Promise<ExtendedData> {
  const [row] = await db.read<ExtensionRow>(
    `select m.header_from, m.message_id_header, m.tags, m.metadata, r.type
       from message m left join recipient r on r.id = :recipientId
      where m.id = :messageId`,
    { messageId: event.message_id, recipientId: event.recipient_id },
  )
  return {
    from: row?.header_from ?? null,
    messageIdHeader: row?.message_id_header ?? null,
    recipientType: row?.type ?? null,
    tags: row?.tags ?? '[]',
    metadata: row?.metadata ?? '{}',
  }
}
