import { z } from 'zod'
import type { AccountScope } from '../../senders/account/account-scope.ts'
import { SternaError } from '../../platform/errors.ts'
import type { FeedPage } from '../../mail/event/event-search.ts'
import { publicEventTypes } from '../../mail/event/event-type.ts'
import { eventObject } from './email-resource.ts'
import type { Call } from '../operation/call.ts'
import { RawAnswer } from '../operation/raw-answer.ts'
import { authenticate } from '../operation/authenticate.ts'
import { publicBodies } from './event-schema.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listBody, listOf, pageOf, pageParameters } from '../operation/page.ts'
import { addressParameter, choiceParameter, endParameter, textParameter, timeParameter } from '../operation/query.ts'
import { changeSource, eventSource, type StreamSource } from './stream-source.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'apiKeys' | 'sessions' | 'eventFeed' | 'eventStreams'>

const [first, ...others] = publicBodies.map(({ standard }) => standard)
const eventAnswer = z
  .discriminatedUnion('type', [first!, ...others])
  .meta({ id: 'PublicEvent', description: 'The object that webhooks receive.' })

const orderParameter = choiceParameter(['asc', 'desc']).meta({
  description: '`desc` (default): newest first; `asc`: oldest first.',
})

/** `/api/events` */
export const eventOperations = (services: Services): Operation[] => [
  listOperation(services),
  streamOperation(services),
  changesOperation(services),
  getOperation(services),
]

const at = operationsAt({ path: '/api/events', tag: 'Events', permission: 'read_access' })

const listOperation = (services: Services): Operation =>
  at.get('events.list', '', 'List events', {
    description:
      'The same objects that webhooks receive, in the order in which they were recorded. With `order=asc` this is a feed ' +
      'without gaps: keep requesting with `after` set to your last event. If that event is no longer kept, the feed cannot ' +
      'continue from it, and the response is 422 `invalid_parameter`.',
    query: {
      ...pageParameters,
      order: orderParameter,
      type: choiceParameter(publicEventTypes),
      email_id: textParameter.meta({ description: 'Only events of this email.' }),
      to: addressParameter.meta({ description: 'Only events of this recipient, an address with or without a name.' }),
      since: timeParameter,
      until: endParameter,
    },
    answer: ['A page.', listOf(eventAnswer)],
    handle: async ({ caller: scope, query }) => {
      const { limit, after, before } = pageOf(query)
      const page: FeedPage = {
        limit,
        order: query.order ?? 'desc',
        after: await placeOf(services, scope, after),
        before: await placeOf(services, scope, before),
      }
      const { type, to, since, until } = query
      const rows = await services.eventFeed.page(scope, page, { type, messageId: query.email_id, to, since, until })
      return listBody(rows, { limit, after, before }, eventObject<typeof eventAnswer>)
    },
  })

const getOperation = (services: Services): Operation =>
  at.get('events.get', '/{id}', 'Read an event', {
    answer: ['The event.', eventAnswer],
    handle: async ({ caller, params }) => {
      const row = await services.eventFeed.find(caller, params.id)
      if (!row) throw new SternaError('not_found', 'There is no event with this id, or it is no longer kept.')
      return eventObject<typeof eventAnswer>(row)
    },
  })

const streamOperation = (services: Services): Operation =>
  at.get('events.stream', '/stream', 'Follow events as they happen', {
    description:
      'Server-sent events: `id` is the id of the event, `event` its type, and `data` the object that webhooks receive. The stream ' +
      'starts after the event in the header `Last-Event-ID`, which browsers send when they reconnect, or in `after`; ' +
      'without either, now. It skips and repeats no event.',
    headers: ['authorization', 'last-event-id'],
    query: { after: textParameter.meta({ description: 'Starts after this event; the header `Last-Event-ID` takes precedence.' }) },
    answer: ['A stream that does not end by itself.', 'text/event-stream'],
    handle: async (call) => {
      const lastId = call.headers['last-event-id'] || call.query.after
      const after = (await placeOf(services, call.caller, lastId)) ?? (await services.eventFeed.end())
      return streamTo(call, services, { source: eventSource(services.eventFeed), after })
    },
  })

const changesOperation = (services: Services): Operation =>
  at.get('events.changes', '/changes', 'Follow which emails change', {
    description:
      'For pages that show emails and fetch them again when they change. Server-sent events whose `data` is ' +
      '`{"object":"email_changes","email_ids":["em_…"],"has_more":false}`: up to 100 emails that were accepted, or to which ' +
      'something happened, attempts that were put off included. `has_more` means that others changed, too. A message ' +
      'comes at once after a rest, otherwise at most twice a second, and less often the more streams are open. ' +
      'The stream starts now; after a reconnection, fetch again what you show.',
    answer: ['A stream that does not end by itself.', 'text/event-stream'],
    headers: ['authorization'],
    handle: async (call) => streamTo(call, services, { source: changeSource(services.eventFeed), after: await services.eventFeed.end() }),
  })

async function streamTo(
  call: StreamCall,
  services: Services,
  { source, after }: { source: StreamSource; after: number },
): Promise<RawAnswer> {
  const { accountId, sandbox, actor } = call.caller
  const scope = { accountId, sandbox }
  const holder = (actor.type === 'user' && actor.id) || accountId
  const stream = await services.eventStreams.open({ scope, source, holder, after, isAllowed: () => isInForce(call, services) })
  call.reply.set('Cache-Control', 'no-store, no-transform')
  // Nginx otherwise buffers the response.
  call.reply.set('X-Accel-Buffering', 'no')
  // Nothing else follows on this connection, so it ends with the stream.
  call.reply.set('Connection', 'close')
  return new RawAnswer(stream, { type: 'text/event-stream; charset=utf-8' })
}

type StreamCall = Pick<Call<never, unknown, unknown, 'authorization'>, 'caller' | 'headers' | 'reply'>

/** Whether the credentials of the call, if it has any, are still valid. */
function isInForce({ headers: { authorization } }: StreamCall, services: Services): boolean {
  if (authorization === undefined) return true
  try {
    authenticate(authorization, { clientAddress: '', requestId: '' }, services)
    return true
  } catch (error) {
    if (error instanceof SternaError) return false
    throw error
  }
}

async function placeOf({ eventFeed }: Services, scope: AccountScope, id: string | null): Promise<number | null> {
  if (id === null) return null
  const place = await eventFeed.placeOf(scope, id)
  if (place !== undefined) return place
  throw new SternaError('invalid_parameter', `There is no event ${id.slice(0, 100)}, or it is no longer kept: start again without it.`)
}
