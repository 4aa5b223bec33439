import type { Clock } from '../clock.ts'
import { newId } from '../id.ts'
import { publicEventTypes } from '../event/event-type.ts'
import type { Database, Row, Statement } from '../store/database.ts'
import { extendedData, standardData, webhookBody, type ExtendedData } from './webhook-body.ts'
import { insertDelivery } from './webhook-delivery-store.ts'
import type { PayloadKind } from './webhook-store.ts'

/** Events of one step: it bounds what is in memory and how long one commit takes. */
const stepSize = 500

const cursorName = 'webhook'

interface Positions extends Row {
  /** How far deliveries have been made. */
  position: number
  /** The last event. */
  newest: number
  /** No enabled webhook wants an event up to here; null where none is enabled. */
  after: number | null
}

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

/** The cursor in the event log; written once, harmless after that. */
export const createCursor: Statement = {
  sql: `insert into cursor (name, position) values ('${cursorName}', 0) on conflict (name) do nothing`,
}

/**
 * Makes the deliveries that the events written since the last call ask for: one per event and webhook, with the bytes
 * to be sent. The cursor moves in the same batch, so an event is fanned out exactly once whatever happens in between.
 * One caller at a time; `onDue` hears of each webhook that has something to do.
 * @throws ConflictError where somebody else moved the cursor
 */
export async function fanOut({ db, clock }: { db: Database; clock: Clock }, onDue: (webhookId: string) => void): Promise<void> {
  const [found] = await db.read<Positions>(
    `select position, (select coalesce(max(seq), 0) from event) as newest,
            (select min(after_seq) from webhook where status = 'enabled') as after
       from cursor where name = '${cursorName}'`,
  )
  if (!found || found.after === null) return
  let { position } = found
  // While no webhook was enabled the cursor stood still; what came to pass meanwhile concerns nobody.
  for (let from = Math.max(position, found.after); from < found.newest;) {
    const to = Math.min(found.newest, from + stepSize)
    const events = await eventsBetween(db, from, to)
    const now = clock.now()
    const inserts: Statement[] = []
    for (const event of events) inserts.push(insertDelivery(await deliveryOf(event, db, now), now))
    await db.write([moveCursor(position, to), ...inserts], { patient: true })
    new Set(events.map((event) => event.webhook_id)).forEach(onDue)
    position = to
    from = to
  }
}

const moveCursor = (from: number, to: number): Statement => ({
  sql: `update cursor set position = :to where name = '${cursorName}' and position = :from`,
  params: { from, to },
  expect: 1,
})

const publicTypes = publicEventTypes.map((type) => `'${type}'`).join(', ')

/** A row for each event and each webhook that wants it. */
const eventsBetween = (db: Database, from: number, to: number): Promise<DueEvent[]> =>
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
