import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { isId } from '../../platform/id.ts'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import type { QueueEntry } from '../../mail-out/queue/queue-admin.ts'
import type { DestinationQueue } from '../../mail-out/queue/queue-overview.ts'
import type { CallTo } from '../operation/call.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listBody, listOf, pageOf, pageParameters } from '../operation/page.ts'
import { choiceParameter, textParameter } from '../operation/query.ts'
import { resource, time, timeOrNull, timeAnswer } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'queueAdmin' | 'queue'>

export const queueDestination = resource<DestinationQueue>('QueueDestination')({
  object: 'queue_destination',
  destination: z.string().describe('The domain of the recipients.'),
  waiting: z.int().describe('Recipients that are not in a final state; includes all of the following.'),
  due: z.int().describe('Recipients that can be tried now.'),
  in_hand: z.int().describe('Recipients that are being tried.'),
  held: z.int(),
  oldest_at: time('When the oldest of these was accepted.'),
  next_attempt_at: timeOrNull(),
  last_response: z.string().nullable().describe('The result of the last attempt.'),
})

const overviewAnswer = listOf(queueDestination.schema).extend({
  overdue_seconds: z.int().describe('How long the oldest mail that is neither held nor being tried has been due; 0 if there is none.'),
})

/** A recipient in the queue, as the API and the command line show it. */
export const queuedRecipient = resource<QueueEntry>('QueuedRecipient')({
  id: z.string(),
  email_id: [z.string(), 'message_id'],
  account_id: z.string(),
  to: [z.string(), 'forward_path'],
  status: [z.string(), 'state'],
  attempts: z.int(),
  held: [z.boolean(), ({ held }) => held > 0],
  in_hand: [z.boolean(), ({ owner }) => owner !== null],
  next_attempt_at: [timeAnswer.nullable(), ({ due_at: dueAt }) => isoTimeOrNull(dueAt)],
  expires_at: time(),
  last_response: z.string().nullable(),
})

export const totalsAnswer = queueDestination.schema
  .pick({ waiting: true, due: true, in_hand: true, held: true })
  .extend({ object: z.literal('queue_totals'), oldest_at: timeAnswer.nullable().describe('Null if nothing waits.') })
  .meta({ id: 'QueueTotals' })

export const detailAnswer = queueDestination.schema
  .extend({ recipients: z.array(queuedRecipient.schema).describe('The first hundred recipients.') })
  .meta({ id: 'QueueDestinationDetail' })

const changeAnswer = z
  .object({ object: z.literal('queue_change'), destination: z.string(), recipients: z.int().describe('How many recipients were changed.') })
  .meta({ id: 'QueueChange' })

/** `/api/queue`: queued mail by destination. */
export const queueOperations = (services: Services): Operation[] => [
  at.get('queue.list', '', 'List queued mail by destination', {
    query: {
      order: choiceParameter(['name', 'waiting']).meta({
        description: '`waiting`: the longest queues first. There is only one page of these. Default: name.',
      }),
      limit: pageParameters.limit,
      after: textParameter.meta({ description: 'Returns the destinations after this domain.' }),
      before: textParameter.meta({ description: 'Returns the destinations before this domain.' }),
    },
    answer: ['The destinations.', overviewAnswer],
    handle: async ({ query }) => {
      const page = pageOf(query)
      const isByLength = query.order === 'waiting'
      if (isByLength && (page.after ?? page.before) !== null) {
        throw new SternaError('invalid_parameter', 'The parameters after and before can only be combined with order=name.')
      }
      const found = isByLength ? await services.queueAdmin.longest(page.limit) : await services.queueAdmin.page(page)
      const list = listBody(found, page, queueDestination.answer)
      return { ...list, overdue_seconds: Math.floor(services.queue.overdueMs / 1000) }
    },
  }),
  at.get('queue.get_totals', '/totals', 'Count queued mail', {
    answer: ['All destinations together.', totalsAnswer],
    handle: async () => {
      const { waiting, due, inHand, held, oldestAt } = await services.queueAdmin.totals()
      return { object: 'queue_totals' as const, waiting, due, in_hand: inHand, held, oldest_at: isoTimeOrNull(oldestAt) }
    },
  }),
  at.get('queue.get', '/{domain}', 'Read a destination', {
    answer: ['The destination with its first recipients.', detailAnswer],
    handle: async (call) => {
      const domain = domainIn(call)
      const queue = await services.queueAdmin.destination(domain)
      if (!queue) throw new SternaError('not_found', `Nothing waits for "${domain}".`)
      const recipients = await services.queueAdmin.show(domain)
      return { ...queueDestination.answer(queue), recipients: recipients.map(queuedRecipient.answer) }
    },
  }),
  ...restoredOperations(services),
  ...changes.map(([verb, summary, description]) =>
    at.post(`queue.${verb}`, `/{domain}/${verb}`, summary, {
      description,
      answer: ['The mail is due.', changeAnswer],
      refuses: ['invalid_state'],
      handle: async (call) => {
        const destination = domainIn(call)
        return { object: 'queue_change' as const, destination, recipients: await services.queueAdmin[verb](destination) }
      },
    }),
  ),
  at.post('queue.bounce', '/{domain}/bounce', 'Bounce the mail for a destination', {
    description:
      'Each waiting recipient gets a soft bounce, even if it is held. Mail that is being tried or scheduled for later is not affected.',
    answer: [
      'The mail has bounced.',
      changeAnswer
        .extend({ has_more: z.boolean().describe('True if more may be waiting: send the request again.') })
        .meta({ id: 'QueueBounce' }),
    ],
    handle: async (call) => {
      const destination = domainIn(call)
      const { recipients, hasMore } = await services.queueAdmin.bounce(destination)
      return { object: 'queue_change' as const, destination, recipients, has_more: hasMore }
    },
  }),
]

const at = operationsAt({ path: '/api/queue', tag: 'Operation', permission: 'operator' })

const restoredChanges = [
  ['release', 'Release the mail of a restored backup', 'releaseRestored', 'The mail is tried when it is due.'],
  ['cancel', 'Cancel the mail of a restored backup', 'cancelRestored', 'The mail is canceled, with an event for each recipient.'],
] as const

const restoredAnswer = z
  .object({ object: z.literal('restored_mail'), recipients: changeAnswer.shape.recipients })
  .meta({ id: 'RestoredMail' })

const restoredOperations = (services: Services): Operation[] =>
  restoredChanges.map(([verb, summary, change, description]) =>
    at.post(`queue.${verb}_restored`, `/restored/${verb}`, summary, {
      description:
        'After a restore, and after the files of the data directory were copied or moved, the mail that was queued is held, because it may have ' +
        'been sent since.',
      answer: [description, restoredAnswer],
      refuses: ['invalid_state'],
      handle: async () => ({ object: 'restored_mail' as const, recipients: await services.queueAdmin[change]() }),
    }),
  )

const changes = [
  ['hold', 'Hold the mail for a destination', 'Attempts that are already running continue, and held mail still expires.'],
  ['release', 'Release held mail', 'It is tried again when it is due.'],
  ['retry', 'Retry the mail for a destination at once', 'Except mail that is held or scheduled for later.'],
] as const

/** @throws SternaError `not_found`. Without this check, the queue would take an email id for something else */
function domainIn(call: CallTo<'domain'>): string {
  const domain = call.params.domain.toLowerCase()
  if (isId('em', domain) || isId('rcp', domain)) throw new SternaError('not_found', `"${domain}" is not a domain.`)
  return domain
}
