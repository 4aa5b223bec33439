import type { EventFeed, FeedRow } from '../../../mail/event/event-feed.ts'
import type { Database } from '../../../platform/store/database.ts'
import { aboutOf, toldEvent } from '../../../notify/webhook/tell-event.ts'
import type { ToldEvent } from '../../../notify/webhook/told-event.ts'

export interface ToldEventServices {
  db: Pick<Database, 'slowRead'>
  eventFeed: EventFeed
}

/** The same events that webhooks in the shape of a service are made of, so that an API tells what its webhook told. */
export const toldEvents = (rows: FeedRow[], { db }: ToldEventServices): Promise<ToldEvent[]> =>
  Promise.all(rows.map(async (row) => toldEvent(row, await aboutOf(row, (sql, params) => db.slowRead(sql, params)))))
