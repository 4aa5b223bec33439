import { z } from 'zod'
import type { AccountScope } from '../../account/account-scope.ts'
import { SternaError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { emailStatuses } from '../../message/email-status.ts'
import type { MessageFilter } from '../../message/message-filter.ts'
import type { MessageParser } from '../../message/message-parser.ts'
import type { MessageReader } from '../../message/message-reader.ts'
import type { MessageRow } from '../../message/message-store.ts'
import { isTagValue, tagName } from '../../message/send-limits.ts'
import { parseAddress } from '../../smtp/address.ts'
import type { Page } from '../../store/page-clause.ts'
import type { ApiContext } from '../api-state.ts'
import { eventSchema } from '../event-schema.ts'
import { listOperation } from '../list-operation.ts'
import { operation, type Operation } from '../operation.ts'
import { listBody, listOf, pageOf, pageParameters } from '../page.ts'
import { choicesParameter, timeParameter } from '../query.ts'
import { attemptResource, emailItem, emailResource, eventObject, isLost } from './email-resource.ts'

export interface EmailReadingServices {
  messages: MessageReader
  messageParser: MessageParser
  log: Log
  /** How long content is kept after the end of an email, ms. */
  contentKeptMs(): number
}

const addressParameter = z.string().transform((text, ctx) => {
  const parsed = parseAddress(text)
  if (parsed.ok) return parsed.address
  ctx.addIssue('must be an email address without a name')
  return z.NEVER
})

/** `name`, or `name=value` as the header X-Tags has it. */
const tagParameter = z.string().transform((text, ctx) => {
  const equals = text.indexOf('=')
  const [name, value] = equals === -1 ? [text, null] : [text.slice(0, equals), text.slice(equals + 1)]
  if (tagName.test(name) && (value === null || isTagValue(value))) return { name, value }
  ctx.addIssue('must be the name of a tag, or name=value')
  return z.NEVER
})

export const filterParameters = {
  status: choicesParameter(emailStatuses),
  to: addressParameter.meta({ description: 'The address of a recipient: in to, cc or bcc.' }),
  from: addressParameter.meta({ description: 'The address in From.' }),
  domain_id: z
    .string()
    .regex(/^dom_[0-9a-z]{26}$/, { error: 'must be the id of a domain' })
    .meta({ description: 'The domain that signed the email.' }),
  tag: tagParameter.meta({ description: 'The name of a tag, or `name=value`.' }),
  since: timeParameter.meta({ description: 'Accepted at or after this time, such as 2026-11-21T06:00:00Z or a date.' }),
  until: timeParameter.meta({ description: 'Accepted before this time.' }),
}

/** How emails are read under `/api/emails`. */
export const emailReadingOperations = (services: EmailReadingServices): Operation[] => [
  operation({
    id: 'emails.list',
    method: 'GET',
    path: '/api/emails',
    tag: 'Emails',
    summary: 'List emails',
    permission: 'read_access',
    query: { ...pageParameters, ...filterParameters },
    answers: [{ status: 200, description: 'The emails, newest first.', schema: listOf(emailItem.schema) }],
    handle: async (ctx, { query }) => {
      const { domain_id: domainId, limit, after, before, ...rest } = query
      const page = pageOf({ limit, after, before })
      const filter: MessageFilter = { domainId, ...rest }
      return emailList(services.messages, { scope: ctx.state.submitter, filter, page })
    },
  }),
  operation({
    id: 'emails.get',
    method: 'GET',
    path: '/api/emails/{id}',
    tag: 'Emails',
    summary: 'Read an email',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The email, and what happened to it for each recipient.', schema: emailResource.schema }],
    handle: async (ctx) => emailDetail(await findMessage(ctx, services.messages), services),
  }),
  listOperation({
    id: 'emails.list_attempts',
    path: '/api/emails/{id}/attempts',
    tag: 'Emails',
    summary: 'List the attempts to deliver an email',
    description: 'Each with the SMTP dialogue, and an explanation in plain words.',
    permission: 'read_access',
    of: attemptResource,
    answer: 'The attempts, newest first.',
    rows: async (ctx, page) => {
      const { id } = await findMessage(ctx, services.messages)
      return services.messages.attempts(id, page)
    },
  }),
  listOperation({
    id: 'emails.list_events',
    path: '/api/emails/{id}/events',
    tag: 'Emails',
    summary: 'List the events of an email',
    description: 'The events that webhooks receive, and those that only the log contains.',
    permission: 'read_access',
    of: { schema: eventSchema, answer: eventObject },
    answer: 'The events, newest first.',
    rows: async (ctx, page) => {
      const { id } = await findMessage(ctx, services.messages)
      const [after, before] = await Promise.all([page.after, page.before].map((edge) => placeOf(edge, id, services.messages)))
      return services.messages.events(id, { limit: page.limit, after: after ?? null, before: before ?? null })
    },
  }),
]

/** A page of emails as the API and the command line list them. */
export async function emailList(
  messages: MessageReader,
  { scope, filter, page }: { scope: AccountScope; filter: MessageFilter; page: Page },
) {
  const rows = await messages.list(scope, filter, page)
  const related = await relatedTo(messages, rows.slice(0, page.limit))
  return listBody(rows, page, (row) => emailItem.answer({ message: row, ...related(row.id) }))
}

/** Emails with all that is known of them but what they say, which their content has. */
export async function emailRecords(messages: MessageReader, rows: MessageRow[], contentKeptMs: number): Promise<object[]> {
  const related = await relatedTo(messages, rows)
  return rows.map((message) => {
    const {
      html: _html,
      text: _text,
      ...record
    } = emailResource.answer({ message, ...related(message.id), bodies: { html: null, text: null }, contentKeptMs })
    return record
  })
}

/** An email as the API and the command line show it. */
export async function emailDetail(message: MessageRow, services: EmailReadingServices) {
  const [related, bodies] = await Promise.all([relatedTo(services.messages, [message]), bodiesOf(message.id, services)])
  return emailResource.answer({ message, ...related(message.id), bodies, contentKeptMs: services.contentKeptMs() })
}

/**
 * The email in the path, if the caller may see it.
 * @throws SternaError `not_found`
 */
export async function findMessage(ctx: ApiContext, messages: MessageReader): Promise<MessageRow> {
  const message = await messages.find(ctx.state.submitter, ctx.params.id ?? '')
  if (!message) throw new SternaError('not_found', 'There is no email with this id.')
  return message
}

/** What was sent is read from the stored message; a second copy could differ from it. */
async function bodiesOf(messageId: string, { messages, messageParser, log }: EmailReadingServices) {
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
  const lost = ids.filter((id) => byMessage.get(id)?.some(({ state }) => isLost(state)))
  const lastBounces = await messages.lastBounces(lost)
  return (id: string) => ({ recipients: byMessage.get(id) ?? [], newestEvent: newestEvents.get(id), lastBounce: lastBounces.get(id) })
}
