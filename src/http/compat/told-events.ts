import type { EventFeed, FeedRow } from '../../event/event-feed.ts'
import type { Database } from '../../store/database.ts'
import { aboutOf, toldEvent } from '../../webhook/tell-event.ts'
import type { ToldEvent } from '../../webhook/told-event.ts'

export interface ToldEventServices {
  db: Pick<Database, 'slowRead'>
  eventFeed: EventFeed
}

/** The same events that webhooks in the shape of a service are made of, so that an API tells what its webhook told. */
export const toldEvents = (rows: FeedRow[], { db }: ToldEventServices): Promise<ToldEvent[]> =>
  Promise.all(rows.map(async (row) => toldEvent(row, await aboutOf(row, (sql, params) => db.slowRead(sql, params)))))
