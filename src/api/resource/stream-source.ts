import type { AccountScope } from '../../senders/account/account-scope.ts'
import type { EventFeed, FeedRow } from '../../mail/event/event-feed.ts'
import { webhookBody } from '../../notify/webhook/webhook-body.ts'

/** What a stream tells of the log. */
export interface StreamSource {
  /** Server-sent events about what was written after `place`, and the place to go on from. */
  read(scope: AccountScope, place: number): Promise<{ text: string; place: number; hasMore: boolean }>
  /** The least time between two reads of one stream that had something to tell, ms; `open` streams are open. */
  restMs(open: number): number
}

/** How many events are read at once. */
const pageSize = 100
/** How many emails one message names. */
const maxEmails = 100

/** Every public event, as webhooks get it. */
export const eventSource = (feed: EventFeed): StreamSource => ({
  async read(scope, place) {
    const rows = await feed.page(scope, { order: 'asc', limit: pageSize, after: place, before: null })
    const shown = rows.slice(0, pageSize)
    return { text: shown.map(eventText).join(''), place: shown.at(-1)?.seq ?? place, hasMore: rows.length > pageSize }
  },
  restMs: () => 0,
})

/**
 * Which emails changed. Each message makes a page fetch what it shows, so together all streams cause at most five fetches a second.
 */
export const changeSource = (feed: EventFeed): StreamSource => ({
  async read(scope, place) {
    const { emailIds, hasMore, end } = await feed.changes(scope, place, maxEmails)
    const data = { object: 'email_changes', email_ids: emailIds, has_more: hasMore }
    return { text: emailIds.length === 0 ? '' : `data: ${JSON.stringify(data)}\n\n`, place: end, hasMore: false }
  },
  restMs: (open) => Math.max(500, open * 200),
})

/** JSON has no line breaks, so the data is one line. */
const eventText = ({ id, type, sandbox, created_at: createdAt, data }: FeedRow): string =>
  `id: ${id}\nevent: ${type}\ndata: ${webhookBody({ id, type, sandbox: sandbox === 1, createdAt, data })}\n\n`
