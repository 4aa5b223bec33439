import type { WebhookEventType } from '../../mail/event/event-type.ts'
import { postedEvents } from '../../mail/event/posted-event.ts'
import { newId } from '../../platform/id.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { withCause } from './event-cause.ts'
import { timeMember, type EventDetails } from './event-details.ts'
import type { AboutRow } from './read-event-details.ts'

/** What receivers of `payload: extended` also get. */
type ExtendedData = Pick<AboutRow, 'header_from' | 'message_id_header' | 'type' | 'tags' | 'metadata'>

/**
 * The text that receivers get, marked if it is of the sandbox. The order of keys never changes. `data` is JSON and used as is. The text is made once; every attempt and
 * replay signs and sends the same bytes.
 */
export const webhookBody = (event: { id: string; type: string; sandbox: boolean; createdAt: number; data: string }): string =>
  `{"id":${JSON.stringify(event.id)},"type":${JSON.stringify(event.type)},` +
  `"created_at":"${isoTime(event.createdAt)}","data":${event.data}${event.sandbox ? ',"sandbox":true' : ''}}`

/** Why a hit was judged a machine's, and what says that a smarthost reported it, by type. */
const onlyExtended: Partial<Record<WebhookEventType, readonly string[]>> = {
  'email.opened': ['bot_reason', 'bot_confidence'],
  'email.clicked': ['bot_reason', 'bot_confidence'],
  'email.delivered': ['reported_by'],
  'email.bounced': ['reported_by'],
}

/** `data` without what only extended webhooks get. */
export function standardData(type: WebhookEventType, data: string): string {
  const left = onlyExtended[type] ?? []
  return left.some((name) => data.includes(`"${name}":`))
    ? JSON.stringify(JSON.parse(data), (name, value: unknown) => (left.includes(name) ? undefined : value))
    : data
}

/** `data` with the additions for an extended webhook; `about` is undefined where the message is gone. */
export function extendedData(data: string, about: ExtendedData | undefined): string {
  const [from, messageId, type] = [about?.header_from, about?.message_id_header, about?.type].map((text) => JSON.stringify(text ?? null))
  const own = `"from":${from},"message_id":${messageId},"recipient_type":${type}`
  return `${data.slice(0, -1)},${own},"tags":${about?.tags ?? '[]'},"metadata":${about?.metadata ?? '{}'}}`
}

/** `data` of an invented event, for testing a receiver. */
export const sampleData = (type: WebhookEventType, messageId: string, at: number): string =>
  withCause(
    type,
    JSON.stringify({
      email_id: messageId,
      to: 'user@example.com',
      subject: 'A test of your webhook',
      [timeMember(type)]: isoTime(at),
      ...postedEvents[type].sample(at),
    }),
    null,
  )

/** The additions for extended webhooks in a sample. */
export const sampleExtension: ExtendedData = {
  header_from: 'Sterna <test@example.com>',
  message_id_header: '<test@example.com>',
  type: 'to',
  tags: '[]',
  metadata: '{}',
}

/** The same sample in the shape of another service. */
export const sampleEvent = (type: WebhookEventType, id: string, data: string, at: number): EventDetails => ({
  id,
  type,
  sandbox: true,
  data: JSON.parse(data) as EventDetails['data'],
  message: {
    from: sampleExtension.header_from,
    messageIdHeader: sampleExtension.message_id_header,
    tags: [],
    metadata: {},
    unsubscribeTopic: '',
    size: 1000,
    createdAt: at,
  },
  recipient: { id: newId('rcp', at), type: 'to', lastResponse: '250 2.0.0 Ok', attempts: 1, deliveredAt: null, openedAt: at },
})
