import { z } from 'zod'
import type { AccountScope } from '../../senders/account/account-scope.ts'
import { SternaError } from '../../platform/errors.ts'
import { numberOfId, timeOfNumber } from '../../platform/id.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { MessageFilter } from '../../mail/message/message-filter.ts'
import type { MessageReader, RecipientRow } from '../../mail/message/message-reader.ts'
import type { MessageRow } from '../../mail/message/message-store.ts'
import type { Page } from '../../platform/store/page-clause.ts'
import type { CallTo } from '../operation/call.ts'
import { eventSchema } from './event-schema.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listBody, listOf, pageOf, pageParameters } from '../operation/page.ts'
import { timeAnswer } from '../operation/resource.ts'
import { filterParameters, messageFilter } from './email-filter.ts'
import { isLost } from './email-recipient-resource.ts'
import { attemptResource, emailItem, emailResource, eventObject } from './email-resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'messages' | 'messageParser' | 'suppressions' | 'log' | 'contentKeptMs'>

const stoppedAnswer = z
  .object({ id: z.string(), created_at: timeAnswer })
  .optional()
  .describe(
    'Present if the filters match so rarely that the search stopped after a fifth of a second: the oldest email that it looked at. ' +
      '`data` may then be short or empty, and `has_more` is true. Pass the id as `after` to look further back.',
  )

const at = operationsAt({ path: '/api/emails', tag: 'Emails', permission: 'read_access' })

/** How emails are read under `/api/emails`. */
export const emailReadingOperations = (services: Services): Operation[] => [
  at.get('emails.list', '', 'List emails', {
    query: { ...pageParameters, ...filterParameters },
    answer: ['The emails, newest first.', listOf(emailItem.schema).extend({ stopped_at: stoppedAnswer })],
    handle: ({ caller, query }) => emailList(services.messages, { scope: caller, filter: messageFilter(query), page: pageOf(query) }),
  }),
  at.get('emails.get', '/{id}', 'Read an email', {
    answer: ['The email, and what happened to it for each recipient.', emailResource.schema],
    handle: async (call) => emailDetail(await findMessage(call, services.messages), services),
  }),
  at.list('emails.list_attempts', '/{id}/attempts', 'List the attempts to deliver an email', {
    description: 'Each with the SMTP dialogue, and an explanation in plain words.',
    answer: ['The attempts, newest first.', attemptResource],
    rows: async (call, page) => {
      const { id } = await findMessage(call, services.messages)
      return services.messages.attempts(id, page)
    },
  }),
  at.list('emails.list_events', '/{id}/events', 'List the events of an email', {
    description: 'The events that webhooks receive, and those that only the log contains.',
    answer: ['The events, newest first.', { schema: eventSchema, answer: eventObject }],
    rows: async (call, page) => {
      const { id } = await findMessage(call, services.messages)
      const [after, before] = await Promise.all([page.after, page.before].map((edge) => placeOf(edge, id, services.messages)))
      return services.messages.events(id, { limit: page.limit, after: after ?? null, before: before ?? null })
    },
  }),
]

/** A page of emails as the API and the command line list them. */
async function emailList(messages: MessageReader, { scope, filter, page }: { scope: AccountScope; filter: MessageFilter; page: Page }) {
  const { rows, stoppedAt } = await messages.search(scope, filter, page)
  const related = await relatedTo(messages, rows.slice(0, page.limit))
  const body = listBody(rows, page, (row) => emailItem.answer({ message: row, ...related(row.id) }))
  const stopped = stoppedAt === null ? {} : { has_more: true, stopped_at: { id: stoppedAt, created_at: timeOfId(stoppedAt) } }
  return { ...body, ...stopped }
}

const timeOfId = (id: string): string => isoTime(timeOfNumber(numberOfId(id)))

/** Emails with all that is known of them but what they say, which their content has. */
export async function emailRecords(messages: MessageReader, rows: MessageRow[], contentKeptMs: number): Promise<object[]> {
  const related = await relatedTo(messages, rows)
  return rows.map((message) => {
    const answer = emailResource.answer({
      message,
      ...related(message.id),
      bodies: { html: null, text: null },
      contentKeptMs,
      stopping: new Map(),
    })
    const { html: _html, text: _text, ...record } = answer
    return record
  })
}

/** An email as the API and the command line show it. */
async function emailDetail(message: MessageRow, services: Services) {
  const [relatedBy, bodies] = await Promise.all([relatedTo(services.messages, [message]), bodiesOf(message.id, services)])
  const related = relatedBy(message.id)
  const stopping = await stoppingFor(message, related.recipients, services)
  return emailResource.answer({ message, ...related, bodies, contentKeptMs: services.contentKeptMs(), stopping })
}

/** What is on the suppression list of those who got nothing, by address. */
async function stoppingFor(message: MessageRow, recipients: RecipientRow[], { suppressions }: Services) {
  const addresses = recipients.filter(({ state }) => isLost(state)).map((row) => row.forward_path)
  if (addresses.length === 0) return new Map()
  const scope = { accountId: message.account_id, sandbox: message.sandbox === 1 }
  return suppressions.stopping(scope, { addresses, topic: message.unsubscribe_topic })
}

/**
 * The email in the path, if the caller may see it.
 * @throws SternaError `not_found`
 */
export async function findMessage(call: CallTo<'id'>, messages: MessageReader): Promise<MessageRow> {
  const message = await messages.find(call.caller, call.params.id)
  if (!message) throw new SternaError('not_found', 'There is no email with this id.')
  return message
}

/** What was sent is read from the stored message; a second copy could differ from it. */
async function bodiesOf(messageId: string, { messages, messageParser, log }: Services) {
  const none = { html: null, text: null }
  const parsed = await messageParser
    .parse(() => messages.content(messageId))
    .catch((error: unknown) => {
      log.warn({ messageId, error }, 'a stored message could not be parsed for the API')
      return none
    })
  return parsed ?? none
}

async function placeOf(eventId: string | null, messageId: string, messages: MessageReader): Promise<number | null> {
  if (eventId === null) return null
  const seq = await messages.placeOfEvent(messageId, eventId)
  if (seq === undefined) throw new SternaError('invalid_parameter', `This email has no event ${eventId}, or it is no longer kept.`)
  return seq
}

async function relatedTo(messages: MessageReader, rows: MessageRow[]) {
  const ids = rows.map(({ id }) => id)
  const [recipients, newestEvents] = await Promise.all([messages.recipients(ids), messages.newestEvents(ids)])
  const byMessage = Map.groupBy(recipients, (recipient) => recipient.message_id)
  const missed = ids.filter((id) => byMessage.get(id)?.some(({ state }) => isLost(state) || state === 'deferred'))
  const lastFailures = await messages.lastFailures(missed)
  return (id: string) => ({ recipients: byMessage.get(id) ?? [], newestEvent: newestEvents.get(id), lastFailures })
}
