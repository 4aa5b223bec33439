import { SternaError } from '../../../platform/errors.ts'
import type { FeedRow } from '../../../mail/event/event-feed.ts'
import { isId } from '../../../platform/id.ts'
import { postmarkEvent } from '../../../notify/webhook/shape/postmark-event.ts'
import type { EventDetails } from '../../../notify/webhook/event-details.ts'
import type { ApiContext } from '../api-state.ts'
import { reads, changes, type CompatAction, type CompatServices } from './compat-api.ts'
import { addressIn, queryNumber, queryText, queryTime } from './query-values.ts'
import { eventPage } from './event-page.ts'

type PostmarkBounceServices = Pick<CompatServices, 'db' | 'eventFeed' | 'suppressions'>

/** Postmark lists so many at a time, and looks no further back than this. */
const maxListed = 500
const furthest = 10_000

/**
 * `/bounces`: the list, one bounce, its dump (which is empty: reports are not kept for it) and its activation, which takes the address off
 * the suppression list. They are the bounces that a webhook tells.
 */
export const postmarkBounceActions = (services: PostmarkBounceServices): CompatAction[] => [
  reads('/bounces', (ctx) => list(ctx, services)),
  reads('/bounces/{id}', async (ctx) => (await find(ctx, services)).bounce),
  reads('/bounces/{id}/dump', async (ctx) => {
    await find(ctx, services)
    return { Body: '' }
  }),
  changes('PUT', '/bounces/{id}/activate', async (ctx) => {
    const { event } = await find(ctx, services)
    const address = String(event.data['to'])
    await services.suppressions.removeFound(ctx.state.caller, { address, origins: ['bounce'] })
    return { Message: 'OK', Bounce: await bounceOf(ctx, event, services) }
  }),
]

/** `TotalCount` counts as far as has been looked: one further than was asked for, and never past the newest ten thousand. */
async function list(ctx: ApiContext, services: PostmarkBounceServices): Promise<object> {
  const count = queryNumber(ctx, 'count', { usual: maxListed, least: 1, most: maxListed })
  const offset = queryNumber(ctx, 'offset', { usual: 0, least: 0, most: furthest - count })
  const wanted = bounceFilter(ctx)
  const found: EventDetails[] = []
  for (let before: number | null = null; found.length <= offset + count;) {
    const rows: FeedRow[] = await services.eventFeed.page(
      ctx.state.caller,
      { limit: maxListed, order: 'desc', after: before, before: null },
      wanted.filter,
    )
    // Postmark refuses mail to suppressed addresses, and has no bounce of it.
    const events = (await eventPage(rows.slice(0, maxListed), services)).filter(
      (event) => postmarkEvent(event) !== null && wanted.fits(event),
    )
    found.push(...events)
    if (rows.length <= maxListed) break
    before = rows[maxListed - 1]?.seq ?? null
  }
  const page = found.slice(offset, offset + count)
  return {
    TotalCount: Math.min(found.length, offset + count + 1),
    Bounces: await Promise.all(page.map((event) => bounceOf(ctx, event, services))),
  }
}

function bounceFilter(ctx: ApiContext) {
  const [type, tag, email] = ['type', 'tag', 'emailFilter'].map((name) => queryText(ctx, name))
  const messageId = queryText(ctx, 'messageID') ?? null
  const filter = {
    type: 'email.bounced' as const,
    messageId,
    to: email?.includes('@') ? addressIn(email, 'emailFilter') : null,
    since: queryTime(ctx, 'fromdate'),
    until: queryTime(ctx, 'todate'),
  }
  const fits = (event: EventDetails): boolean => {
    const bounce = postmarkEvent(event) as { Type: string; Tag: string; Email: string }
    return (type ?? bounce.Type) === bounce.Type && (tag ?? bounce.Tag) === bounce.Tag && bounce.Email.includes(email ?? '')
  }
  return { filter, fits }
}

async function find(ctx: ApiContext, services: PostmarkBounceServices): Promise<{ event: EventDetails; bounce: object }> {
  const id = ctx.params.id ?? ''
  const row = /^\d{1,16}$/.test(id) ? await services.eventFeed.findByNumber(ctx.state.caller, Number(id)) : undefined
  const [event] = row && isId('evt', row.id) && row.type === 'email.bounced' ? await eventPage([row], services) : []
  if (!event || postmarkEvent(event) === null) throw new SternaError('not_found', 'The bounce was not found.')
  return { event, bounce: await bounceOf(ctx, event, services) }
}

/** With what is true of the address now. */
async function bounceOf(ctx: ApiContext, event: EventDetails, { suppressions }: PostmarkBounceServices): Promise<object> {
  const address = String(event.data['to'])
  const page = { limit: 1, after: null, before: null }
  const [entry] = await suppressions.page(ctx.state.caller, { address, origins: ['bounce', 'complaint', 'manual'] }, page)
  return { ...postmarkEvent(event), Inactive: entry !== undefined, CanActivate: entry?.origin === 'bounce' }
}
