import type { EventFeed, FeedRow } from '../../../mail/event/event-feed.ts'
import type { Database } from '../../../platform/store/database.ts'
import { messageOfEvent, eventDetails } from '../../../notify/webhook/read-event-details.ts'
import type { EventDetails } from '../../../notify/webhook/event-details.ts'

export interface EventPageServices {
  db: Pick<Database, 'slowRead'>
  eventFeed: EventFeed
}

/** The same events that webhooks in the shape of a service are made of, so that an API tells what its webhook told. */
export const eventPage = (rows: FeedRow[], { db }: EventPageServices): Promise<EventDetails[]> =>
  Promise.all(rows.map(async (row) => eventDetails(row, await messageOfEvent(row, (sql, params) => db.slowRead(sql, params)))))
