import type { AccountScope } from '../../senders/account/account-scope.ts'
import type { EventFeed, FeedRow } from '../../mail/event/event-feed.ts'
import type { EventFollower } from '../../mail/event/event-follower.ts'
import type { EventFilter } from '../../mail/event/event-search.ts'

/** Whose events, and until when. */
interface Follow {
  follower: EventFollower
  scope: AccountScope
  signal: AbortSignal
}

/**
 * Calls `look` at once and whenever events of this account have been written since it last began. Ends when `look` answers true, or with
 * the signal.
 */
export async function lookAtNews({ follower, scope, signal }: Follow, look: () => Promise<boolean>): Promise<void> {
  let news = Promise.withResolvers<void>()
  const wake = (): void => news.resolve()
  const leave = await follower.follow(scope, wake)
  signal.addEventListener('abort', wake)
  try {
    while (!signal.aborted) {
      news = Promise.withResolvers<void>()
      if (await look()) return
      if (!signal.aborted) await news.promise
    }
  } finally {
    leave()
    signal.removeEventListener('abort', wake)
  }
}

/** Which events, and where in the log to begin: behind the place `after`. */
interface Wanted {
  feed: EventFeed
  filter: EventFilter
  after: number
}

/** Events that are read at once. */
const pageSize = 100

/** Hands over events as they are written, none twice and none left out; reads no more until `take` has resolved. */
export function followEvents(follow: Follow, { feed, filter, after }: Wanted, take: (rows: FeedRow[]) => Promise<void>): Promise<void> {
  let place = after
  return lookAtNews(follow, async () => {
    let isMore = true
    while (isMore && !follow.signal.aborted) {
      const rows = await feed.page(follow.scope, { order: 'asc', limit: pageSize, after: place, before: null }, filter)
      isMore = rows.length > pageSize
      const page = rows.slice(0, pageSize)
      place = page.at(-1)?.seq ?? place
      if (page.length > 0) await take(page)
    }
    return false
  })
}
