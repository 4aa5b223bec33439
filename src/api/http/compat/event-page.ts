import type { FeedRow } from '../../../mail/event/event-feed.ts'
import { messageOfEvent, eventDetails } from '../../../notify/webhook/read-event-details.ts'
import type { EventDetails } from '../../../notify/webhook/event-details.ts'
import type { CompatServices } from './compat-api.ts'

/** The same events that webhooks in the shape of a service are made of, so that an API tells what its webhook told. */
export const eventPage = (rows: FeedRow[], { db }: Pick<CompatServices, 'db'>): Promise<EventDetails[]> =>
  Promise.all(rows.map(async (row) => eventDetails(row, await messageOfEvent(row, (sql, params) => db.slowRead(sql, params)))))
