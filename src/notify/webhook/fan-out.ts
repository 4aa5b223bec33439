import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/id.ts'
import { webhookEventTypes } from '../../mail/event/event-type.ts'
import { LogReader, type LogStep } from '../../mail/event/log-reader.ts'
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/store/database.ts'
import { withCause } from './event-cause.ts'
import { extendedData, standardData, webhookBody } from './webhook-body.ts'
import { insertDelivery } from './webhook-delivery-store.ts'
import { isServiceShape, type PayloadKind } from './payload-kind.ts'
import { shapedBody } from './shape/shaped-body.ts'
import { messageOfEvent, eventDetails, type StoredEvent } from './read-event-details.ts'

/** Events per step. Bounds the memory and the duration of a commit. */
const stepSize = 500

interface DueEvent extends StoredEvent {
  webhook_id: string
  payload: PayloadKind
  /** Of a bounce or a deferral: who runs the recipient's host. */
  provider: string | null
}

/**
 * Creates the deliveries for new events: one per event and webhook, with the bytes to send. Calls
 * `onDue` for each webhook with something to do.
 */
export function fanOutReader(
  services: { db: Database; clock: Clock; log: Log; list: { someEnabled: boolean } },
  onDue: (webhookId: string) => void,
): LogReader {
  const { db, clock, list } = services
  return new LogReader(services, {
    cursor: 'webhook',
    fault: 'webhook deliveries could not be created from the event log',
    // While no webhook is enabled, the cursor does not move, because nobody wants the events.
    since: "select min(after_seq) from webhook where status = 'enabled'",
    maxEvents: stepSize,
    isWanted: () => list.someEnabled,
    async take(step) {
      const events = await eventsBetween(db, step)
      const told: { event: DueEvent; body: string }[] = []
      for (const event of events) {
        const body = await bodyOf(event, db)
        if (body !== null) told.push({ event, body })
      }
      // The ids are made in one go, so that they sort like the events.
      const now = clock.now()
      const statements = told.map(({ event: { id: eventId, type: eventType, webhook_id: webhookId }, body }) =>
        insertDelivery({ id: newId('whd', now), webhookId, eventId, eventType, body }, now),
      )
      return { statements, written: () => new Set(events.map((event) => event.webhook_id)).forEach(onDue) }
    },
  })
}

const wantedTypes = webhookEventTypes.map((type) => `'${type}'`).join(', ')

/** One row per event and subscribed webhook. */
const eventsBetween = (db: Database, { from, to }: LogStep): Promise<DueEvent[]> =>
  db.read<DueEvent>(
    `select e.seq, e.id, e.type, e.sandbox, e.message_id, e.recipient_id, e.created_at, e.data, w.id as webhook_id, w.payload,
            case when e.type in ('email.bounced', 'email.deferred') then (select r.provider from recipient r where r.id = e.recipient_id) end as provider
       from event e join webhook w on w.account_id = e.account_id and w.sandbox = e.sandbox
      where e.seq > :from and e.seq <= :to and e.type in (${wantedTypes})
        and (w.include_bots = 1 or coalesce(e.bot, 0) = 0)
        and w.status = 'enabled' and e.seq > w.after_seq and w.events like '%,' || e.type || ',%'
      order by e.seq`,
    { from, to },
  )

/** What is posted; null where the webhook's shape has no word for the event. */
async function bodyOf(event: DueEvent, db: Database): Promise<string | null> {
  const { id, type, created_at: createdAt, payload } = event
  const sandbox = event.sandbox === 1
  const data = isServiceShape(payload) ? event.data : withCause(type, event.data, event.provider)
  if (payload === 'standard') return webhookBody({ id, type, sandbox, createdAt, data: standardData(type, data) })
  const about = await messageOfEvent(event, (sql, params) => db.read(sql, params))
  if (isServiceShape(payload)) return shapedBody(payload, eventDetails(event, about))
  return webhookBody({ id, type, sandbox, createdAt, data: extendedData(data, about) })
}
