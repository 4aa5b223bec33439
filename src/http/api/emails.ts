import { SternaError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { emailStatuses } from '../../message/email-status.ts'
import type { MessageParser } from '../../message/message-parser.ts'
import type { MessageFilter, MessageReader, MessageRow } from '../../message/message-reader.ts'
import type { Accept } from '../../submission/accept.ts'
import { requirePermission } from '../api-state.ts'
import type { ApiContext, ApiRouter } from '../api-state.ts'
import { BodyRoom } from '../body-room.ts'
import { jsonBytes } from '../json-body.ts'
import { listBody, readPage } from '../page.ts'
import { queryChoice, queryTime, queryValue } from '../query.ts'
import type { EmailComposer } from './email-composer.ts'
import { attemptObject, emailItem, emailObject, eventObject, sentEmailObject } from './email-object.ts'

interface EmailRouteParts {
  composer: EmailComposer
  accept: Accept
  messages: MessageReader
  messageParser: MessageParser
  log: Log
}

/** The routes under /api that send emails and tell of them. */
export function emailRoutes(router: ApiRouter, parts: EmailRouteParts): void {
  const room = new BodyRoom()
  router.post('/api/send', (ctx) => sendEmail(ctx, parts, room))
  router.post('/api/emails', (ctx) => sendEmail(ctx, parts, room))
  router.get('/api/emails', (ctx) => listEmails(ctx, parts))
  router.get('/api/emails/:id', (ctx) => getEmail(ctx, parts))
  router.get('/api/emails/:id/events', (ctx) => listEvents(ctx, parts))
  router.get('/api/emails/:id/attempts', (ctx) => listAttempts(ctx, parts))
}

async function sendEmail(ctx: ApiContext, { composer, accept }: EmailRouteParts, room: BodyRoom): Promise<void> {
  requirePermission(ctx, 'sending_access')
  const request = { submitter: ctx.state.submitter, source: 'api' as const, isStrict: isStrict(ctx), idempotencyKey: idempotencyKey(ctx) }
  const leave = await room.enter(ctx.req)
  try {
    const accepted = await accept(await composer.submissionFrom(await jsonBytes(ctx), request))
    if (accepted.replayed) ctx.set('Idempotency-Replayed', 'true')
    ctx.body = sentEmailObject(accepted)
  } finally {
    leave()
  }
}

/** RFC 7240 4.4, and a parameter for those who cannot set headers. */
function isStrict(ctx: ApiContext): boolean {
  return /(?:^|[,;\s])handling=strict(?:$|[,;\s])/.test(ctx.get('Prefer')) || queryChoice(ctx, 'strict', ['true', 'false']) === 'true'
}

function idempotencyKey(ctx: ApiContext): string | null {
  const key = ctx.req.headers['idempotency-key']
  if (key === undefined) return null
  if (typeof key === 'string' && key.length >= 1 && key.length <= 256) return key
  throw new SternaError('invalid_idempotency_key', 'The header Idempotency-Key must have 1 to 256 characters.')
}

async function listEmails(ctx: ApiContext, { messages }: EmailRouteParts): Promise<void> {
  requirePermission(ctx, 'read_access')
  const page = readPage(ctx)
  const rows = await messages.list(ctx.state.submitter, filterOf(ctx), page)
  const parts = await partsOf(messages, rows.slice(0, page.limit))
  ctx.body = listBody(rows, page, (row) => emailItem(row, parts(row.id)))
}

function filterOf(ctx: ApiContext): MessageFilter {
  return {
    status: queryChoice(ctx, 'status', emailStatuses),
    to: queryValue(ctx, 'to'),
    from: queryValue(ctx, 'from'),
    domainId: queryValue(ctx, 'domain_id'),
    tag: tagOf(queryValue(ctx, 'tag')),
    since: queryTime(ctx, 'since'),
    until: queryTime(ctx, 'until'),
  }
}

/** `name`, or `name=value` as the header X-Tags has it. */
function tagOf(text: string | null): MessageFilter['tag'] {
  if (text === null) return null
  const [name = '', value = null] = text.split('=', 2)
  return { name, value }
}

async function getEmail(ctx: ApiContext, parts: EmailRouteParts): Promise<void> {
  requirePermission(ctx, 'read_access')
  const message = await findMessage(ctx, parts)
  const [related, bodies] = await Promise.all([partsOf(parts.messages, [message]), bodiesOf(message.id, parts)])
  ctx.body = emailObject(message, related(message.id), bodies)
}

/** What was sent is read out of the stored message: there is no second copy of it that could differ. */
async function bodiesOf(messageId: string, { messages, messageParser, log }: EmailRouteParts) {
  const none = { html: null, text: null }
  const parsed = await messageParser.parse(() => messages.content(messageId)).catch((error: unknown) => {
    log.warn({ messageId, error }, 'a stored message could not be read for the API')
    return none
  })
  return parsed ?? none
}

async function listAttempts(ctx: ApiContext, parts: EmailRouteParts): Promise<void> {
  requirePermission(ctx, 'read_access')
  const page = readPage(ctx)
  const { id } = await findMessage(ctx, parts)
  ctx.body = listBody(await parts.messages.attempts(id, page), page, attemptObject)
}

async function listEvents(ctx: ApiContext, parts: EmailRouteParts): Promise<void> {
  requirePermission(ctx, 'read_access')
  const page = readPage(ctx)
  const { id } = await findMessage(ctx, parts)
  const place = async (eventId: string | null): Promise<number | null> => {
    if (eventId === null) return null
    const seq = await parts.messages.placeOfEvent(id, eventId)
    if (seq === undefined) throw new SternaError('invalid_parameter', `This email has no event ${eventId}, or no longer.`)
    return seq
  }
  const places = { limit: page.limit, after: await place(page.after), before: await place(page.before) }
  ctx.body = listBody(await parts.messages.events(id, places), page, eventObject)
}

async function findMessage(ctx: ApiContext, { messages }: EmailRouteParts): Promise<MessageRow> {
  const message = await messages.find(ctx.state.submitter, ctx.params.id ?? '')
  if (!message) throw new SternaError('not_found', 'There is no email with this id.')
  return message
}

async function partsOf(messages: MessageReader, rows: MessageRow[]) {
  const ids = rows.map(({ id }) => id)
  const [recipients, newestEvents] = await Promise.all([messages.recipients(ids), messages.newestEvents(ids)])
  const byMessage = Map.groupBy(recipients, (recipient) => recipient.message_id)
  return (id: string) => ({ recipients: byMessage.get(id) ?? [], newestEvent: newestEvents.get(id) })
}
