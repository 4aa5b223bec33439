import { SternaError } from '../../../platform/errors.ts'
import type { FeedRow } from '../../../mail/event/event-feed.ts'
import type { EventFilter } from '../../../mail/event/event-search.ts'
import { publicEventTypes, type PublicEventType } from '../../../mail/event/event-type.ts'
import { mailgunEvent, mailgunNames } from '../../../notify/webhook/shape/mailgun-event.ts'
import type { ApiContext } from '../api-state.ts'
import { refusal } from '../../operation/validate.ts'
import { reads, type CompatAction, type CompatServices } from './compat-api.ts'
import { mailgunDomain } from './mailgun-domain.ts'
import { faultAt } from './native-email.ts'
import { addressIn, queryNumber, queryText } from './query-values.ts'
import { eventPage } from './event-page.ts'

const types: ReadonlyMap<string, PublicEventType> = new Map(publicEventTypes.map((type) => [mailgunNames[type], type]))

/** Where a page begins: its token says all of it, so that a page can be asked for again. */
interface Place {
  filter: EventFilter
  limit: number
  order: 'asc' | 'desc'
  after: number | null
  before: number | null
}

/**
 * `/v3/{domain}/events`: the events that a webhook tells, except deferrals, in pages. They are those of the account, whichever of its
 * domains the path names.
 */
export const mailgunEventActions = (services: CompatServices): CompatAction[] => [
  reads('/v3/{domain}/events', (ctx) => page(ctx, placeAsked(ctx), services)),
  reads('/v3/{domain}/events/{token}', (ctx) => page(ctx, placeIn(ctx.params.token ?? ''), services)),
]

/** A page behind the newest event is empty, and may be asked for again later. */
async function page(ctx: ApiContext, place: Place, services: CompatServices): Promise<object> {
  const domain = mailgunDomain(ctx, services)
  const { filter, limit, order, after, before } = place
  const found: FeedRow[] = (await services.eventFeed.page(ctx.state.caller, { limit, order, after, before }, filter)).slice(0, limit)
  const rows = before === null ? found : found.toReversed()
  const link = (to: Partial<Place>): string => {
    const token = Buffer.from(JSON.stringify({ ...place, after: null, before: null, ...to })).toString('base64url')
    return `${services.baseUrl.replace(/\/$/, '')}/compat/mailgun/v3/${domain}/events/${token}`
  }
  // Behind the end, the page before ends with the event that this one begins behind.
  const end = after === null ? before : after + (order === 'asc' ? 1 : -1)
  const edges = { first: rows[0]?.seq ?? end, last: rows.at(-1)?.seq ?? after ?? before }
  return {
    items: (await eventPage(rows, services)).map(mailgunEvent),
    paging: {
      next: link({ after: edges.last }),
      previous: link({ before: edges.first }),
      first: link({}),
      last: link({ before: order === 'asc' ? Number.MAX_SAFE_INTEGER : 0 }),
    },
  }
}

function placeAsked(ctx: ApiContext): Place {
  const [begin, end] = [timeOf(ctx, 'begin'), timeOf(ctx, 'end')]
  const ascending = queryText(ctx, 'ascending')
  // Where only a beginning is given, the list goes forward from it.
  const isUpward = ascending === undefined ? begin !== null && (end === null || begin < end) : /^(?:yes|true)$/i.test(ascending)
  const [since, until] =
    begin !== null && end !== null && begin > end ? [end, begin] : isUpward || end !== null ? [begin, end] : [end, begin]
  const recipient = queryText(ctx, 'recipient')
  return {
    filter: {
      type: typeAsked(ctx),
      messageId: null,
      to: recipient === undefined ? null : addressIn(recipient, 'recipient'),
      since,
      until,
    },
    limit: queryNumber(ctx, 'limit', { usual: 100, least: 1, most: 300 }),
    order: isUpward ? 'asc' : 'desc',
    after: null,
    before: null,
  }
}

function typeAsked(ctx: ApiContext): PublicEventType | null {
  const name = queryText(ctx, 'event')
  if (name === undefined) return null
  const type = types.get(name)
  if (type) return type
  throw refusal([faultAt('event', 'invalid_value', `The parameter event must be one of ${[...types.keys()].join(', ')}.`)])
}

/** Seconds since 1970, or a date of RFC 2822. */
function timeOf(ctx: ApiContext, name: string): number | null {
  const text = queryText(ctx, name)
  if (text === undefined) return null
  const at = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text)
  if (Number.isFinite(at)) return Math.floor(at)
  throw refusal([faultAt(name, 'invalid_value', `The parameter ${name} must be a time: seconds since 1970, or a date of RFC 2822.`)])
}

function placeIn(token: string): Place {
  const place = parsed(token)
  if (place) return place
  throw new SternaError('validation_error', 'This page does not exist: begin again without a token.')
}

/** What a token of ours says; it may come from anybody, and every part of it is looked at. */
function parsed(token: string): Place | null {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(token, 'base64url').toString())
  } catch {
    return null
  }
  const { filter, limit, order, after, before } = Object(value) as Partial<Place>
  const { type = null, to = null, since = null, until = null } = Object(filter) as Partial<EventFilter>
  const isNumberOrNull = (one: unknown): boolean => one === null || Number.isSafeInteger(one)
  const isGenuine =
    [after, before, since, until].every(isNumberOrNull) &&
    (after === null || before === null) &&
    Number.isSafeInteger(limit) &&
    Number(limit) >= 1 &&
    Number(limit) <= 300 &&
    (order === 'asc' || order === 'desc') &&
    (type === null || publicEventTypes.includes(type)) &&
    (to === null || typeof to === 'string')
  if (!isGenuine) return null
  return { filter: { type, messageId: null, to, since, until }, limit: Number(limit), order, after: after ?? null, before: before ?? null }
}
