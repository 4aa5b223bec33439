import type { LogStep } from '../../mail/event/log-reader.ts'
import type { Database, Row } from '../../platform/store/database.ts'
import { otherValue } from './known-values.ts'
import { latencyBucket } from './latency.ts'
import { linkName } from './link-name.ts'
import { repeatedTypes, type RepeatedEvent } from './recipient-counts.ts'
import { quarterMs } from './span.ts'

/** A number of events of live mail that count alike. */
export interface CountedEvents extends Row {
  account_id: string
  type: string
  /** Epoch, ms. */
  quarter: number
  domain_id: string | null
  template_id: string | null
  /** JSON: `[{name, value}]`. */
  tags: string | null
  provider: string | null
  /** For a delivery: 1 over TLS, 0 in plain text; null if that is not known. */
  encrypted: number | null
  /** JSON; for a bounce. */
  bounce: string | null
  /** For a delivery: the index of the latency bucket. */
  bucket: number | null
  /** For events that may repeat. */
  recipient_id: string | null
  events: number
}

const quoted = (types: readonly string[]): string => types.map((type) => `'${type}'`).join(', ')
const repeated = quoted(repeatedTypes)
const counted = quoted(['email.sent', 'email.delivered', 'email.bounced', ...repeatedTypes])

/** When the message was first due to leave. */
const leftAt = 'case when m.scheduled_at > m.created_at then m.scheduled_at else m.created_at end'

/** Aggregates in SQL, because moving an event between threads costs more than counting it. */
const eventsOf = `
  select account_id, type, quarter * cast(${quarterMs} as bigint) as quarter, domain_id, template_id, tags, provider, encrypted, bounce,
         cast(bucket as bigint) as bucket, recipient_id, count(*) as events
    from (select e.account_id, e.type, e.created_at / ${quarterMs} as quarter, m.domain_id, m.template_id, m.tags, r.provider,
                 case when e.type = 'email.bounced' then e.data end as bounce,
                 case when e.type = 'email.delivered' then r.encrypted end as encrypted,
                 case when e.type in (${repeated}) then e.recipient_id end as recipient_id,
                 case when e.type = 'email.delivered' then ${latencyBucket(`(e.created_at - ${leftAt})`)} end as bucket
            from event e left join message m on m.id = e.message_id left join recipient r on r.id = e.recipient_id
           where e.seq > :from and e.seq <= :to and e.sandbox = 0 and e.type in (${counted})) found
   group by account_id, type, quarter, domain_id, template_id, tags, provider, encrypted, bounce, bucket, recipient_id`

/** All such events of the recipients in the step, to count unique ones once. */
const historiesOf = `
  select f.seq, f.id, f.recipient_id, f.type, f.created_at,
         case when f.type in ('email.opened', 'email.clicked', 'email.rejudged') then f.data end as data
    from (select distinct message_id, recipient_id from event
           where seq > :from and seq <= :to and sandbox = 0 and type in (${repeated})) found cross join event f
   where f.message_id = found.message_id and f.recipient_id = found.recipient_id and f.seq <= :to and f.type in (${repeated})
   order by f.seq`

export interface HistoryRow extends Row {
  seq: number
  id: string
  recipient_id: string
  type: RepeatedEvent['type']
  created_at: number
  data: string | null
}

/** What a step counts, and each recipient's repeatable events up to its end. */
export interface ReadStep extends LogStep {
  events: CountedEvents[]
  histories: Map<string, RepeatedEvent[]>
}

const nameOfLink = (link: string): string => linkName(link) ?? otherValue

/** Reads a step on the reader thread. */
export async function readStep(db: Pick<Database, 'slowRead'>, { from, to }: LogStep): Promise<ReadStep> {
  const events = await db.slowRead<CountedEvents>(eventsOf, { from, to })
  const isRepeated = events.some(({ type }) => (repeatedTypes as readonly string[]).includes(type))
  const rows = isRepeated ? await db.slowRead<HistoryRow>(historiesOf, { from, to }) : []
  const histories = Map.groupBy(rows, (row) => row.recipient_id)
  const told = Array.from(histories, ([id, own]): [string, RepeatedEvent[]] => [id, own.map((row) => repeatedEvent(row, nameOfLink))])
  return { from, to, events, histories: new Map(told) }
}

/** An event in the form that is counted. `nameOf` returns the name under which clicks on a link count. */
export function repeatedEvent({ seq, id, type, created_at: at, data }: HistoryRow, nameOf: (link: string) => string): RepeatedEvent {
  const told = data === null ? {} : (JSON.parse(data) as { bot?: unknown; link?: unknown; event_id?: unknown })
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  const link = type === 'email.clicked' ? text(told.link) : null
  return {
    seq,
    id,
    type,
    at,
    bot: told.bot !== false,
    // An erased link is empty.
    link: link === null || link === '' ? null : nameOf(link),
    about: type === 'email.rejudged' ? text(told.event_id) : null,
  }
}
