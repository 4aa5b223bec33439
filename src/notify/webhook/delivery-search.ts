import type { Database, Row } from '../../platform/store/database.ts'
import type { Page } from '../../platform/store/page-clause.ts'
import { searchInPieces, standardSizes, type Span } from '../../platform/store/search-in-pieces.ts'
import type { DeliveryState } from './delivery-state.ts'

/** Filters deliveries; null matches all. */
export interface DeliveryFilter {
  state: DeliveryState | null
  type: string | null
  eventId: string | null
}

interface DeliverySearch {
  /** Columns of `webhook_delivery d`. */
  columns: string
  /** Lists deliveries, or events with their last delivery. */
  key: 'id' | 'event_id'
  webhookId: string
  filter: DeliveryFilter
  page: Page
}

/** Of an event's deliveries to a webhook (replays), only the last counts. Uses webhook_delivery_event. */
export const isLast = `not exists (select 1 from webhook_delivery n
                             where n.webhook_id = d.webhook_id and n.event_id = d.event_id and n.id > d.id)`

/** A page of a webhook's deliveries, newest first, for `pageClause`. */
export async function searchDeliveries<R extends Row>(
  db: Pick<Database, 'slowRead'>,
  { columns, key, webhookId, filter, page }: DeliverySearch,
  sizes = standardSizes,
): Promise<R[]> {
  const isUpward = page.before !== null
  const order = `order by d.${key} ${isUpward ? 'asc' : 'desc'}`
  const listed = [`d.webhook_id = :webhookId and d.${key} >= :first and d.${key} < :end`, ...indexedConditions(filter)]
  const asked = [...listed, ...otherConditions(filter), ...(key === 'event_id' ? [isLast] : [])]
  const params = { webhookId, state: filter.state, type: filter.type, eventId: filter.eventId, rows: page.limit + 1, most: sizes.few + 1 }
  const look = (from: string, { first, end }: Span<string>): Promise<R[]> =>
    db.slowRead<R>(`select ${columns} from ${from} where ${asked.join(' and ')} ${order} limit :rows`, { ...params, first, end })

  const span = { first: page.before === null ? '' : `${page.before}+`, end: page.after ?? '~' }
  const inHand = inHandOf(filter.state)
  if (inHand !== null) {
    // The limit keeps SQLite from merging the outer conditions into this query, so it stays on the index.
    const some = `(select * from webhook_delivery where webhook_id = :webhookId and ${inHand} limit :most) d`
    const [row] = await db.slowRead<{ found: number }>(`select count(*) as found from ${some}`, params)
    if ((row?.found ?? 0) <= sizes.few) return look(some, span)
  }
  const pieces = {
    isUpward,
    rows: params.rows,
    edgeOf: async ({ first, end }: Span<string>, entries: number) => {
      const [row] = await db.slowRead<{ edge: string }>(
        `select d.${key} as edge from webhook_delivery d where ${listed.join(' and ')} ${order} limit 1 offset :entries`,
        { ...params, first, end, entries: isUpward ? entries : entries - 1 },
      )
      return row?.edge
    },
    look: (piece: Span<string>) => look('webhook_delivery d', piece),
  }
  return (await searchInPieces<R, string>(span, pieces, sizes)).rows
}

const isFinal = (state: DeliveryState | null): boolean => state === 'failed' || state === 'canceled'
const isRare = (type: string | null): boolean => type !== null && type !== 'email.sent' && type !== 'email.delivered'

/**
 * The one condition with an index (webhook_delivery_event, webhook_delivery_state, webhook_delivery_type, and the latter two by event), if
 * any. SQLite uses a partial index only if the query repeats the index's condition.
 */
function indexedConditions({ state, type, eventId }: DeliveryFilter): string[] {
  if (eventId !== null) return ['d.event_id = :eventId']
  if (isFinal(state)) return [`d.state = :state and d.state in ('failed', 'canceled')`]
  if (isRare(type)) return [`d.event_type = :type and d.event_type not in ('email.sent', 'email.delivered')`]
  return []
}

const otherConditions = ({ state, type }: DeliveryFilter): string[] => [
  ...(state === null ? [] : ['d.state = :state']),
  ...(type === null ? [] : ['d.event_type = :type']),
]

/** The condition of the index for deliveries in this state, unordered. */
function inHandOf(state: DeliveryState | null): string | null {
  if (state === 'pending') return 'next_attempt_at is not null'
  return state === 'attempting' ? 'owner is not null' : null
}
