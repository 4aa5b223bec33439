import { newId } from '../../platform/id.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { WebhookEventType } from './event-subscription.ts'
import type { ToldEvent } from './told-event.ts'

/** What receivers of `payload: extended` also get. */
export interface ExtendedData {
  from: string | null
  messageIdHeader: string | null
  recipientType: string | null
  /** JSON as stored. */
  tags: string
  metadata: string
}

/**
 * The text that receivers get, marked if it is of the sandbox. The order of keys never changes. `data` is JSON and used as is. The text is made once; every attempt and
 * replay signs and sends the same bytes.
 */
export const webhookBody = (event: { id: string; type: string; sandbox: boolean; createdAt: number; data: string }): string =>
  `{"id":${JSON.stringify(event.id)},"type":${JSON.stringify(event.type)},` +
  `"created_at":"${isoTime(event.createdAt)}","data":${event.data}${event.sandbox ? ',"sandbox":true' : ''}}`

/** `data` without what only extended webhooks get: why a hit was judged a machine's. */
export const standardData = (data: string): string => data.replace(/,"bot_reason":(?:null|"\w*"),"bot_confidence":[\d.]+\}$/, '}')

/** `data` with the additions for an extended webhook. */
export function extendedData(data: string, { from, messageIdHeader, recipientType, tags, metadata }: ExtendedData): string {
  const own = `"from":${JSON.stringify(from)},"message_id":${JSON.stringify(messageIdHeader)},"recipient_type":${JSON.stringify(recipientType)}`
  return `${data.slice(0, -1)},${own},"tags":${tags},"metadata":${metadata}}`
}

/** `data` of an invented event, for testing a receiver. */
export function sampleData(type: WebhookEventType, messageId: string, at: number): string {
  const time = isoTime(at)
  const client = { ip_address: '192.0.2.1', user_agent: 'Mozilla/5.0', bot: false }
  const own: Record<WebhookEventType, Record<string, unknown>> = {
    'email.sent': { sent_at: time },
    'email.delivered': { delivered_at: time },
    'email.opened': { opened_at: time, ...client },
    'email.clicked': { clicked_at: time, link: 'https://example.com/', ...client },
    'email.bounced': {
      bounced_at: time,
      bounce_type: 'hard',
      bounce_category: 'invalid_recipient',
      smtp_code: 550,
      enhanced_status: '5.1.1',
      reason: '550 5.1.1 The mailbox does not exist',
    },
    'email.complained': { complained_at: time, feedback_type: 'abuse', reported_by: null },
    'email.unsubscribed': { unsubscribed_at: time, method: 'one_click' },
    'email.deferred': { deferred_at: time, next_attempt_at: isoTime(at + 60_000), reason: '451 4.7.1 Try again later' },
  }
  return JSON.stringify({ email_id: messageId, to: 'user@example.com', subject: 'A test of your webhook', ...own[type] })
}

/** The additions for extended webhooks in a sample. */
export const sampleExtension: ExtendedData = {
  from: 'Sterna <test@example.com>',
  messageIdHeader: '<test@example.com>',
  recipientType: 'to',
  tags: '[]',
  metadata: '{}',
}

/** The same sample in the shape of another service. */
export const sampleEvent = (type: WebhookEventType, id: string, data: string, at: number): ToldEvent => ({
  id,
  type,
  sandbox: true,
  data: JSON.parse(data) as ToldEvent['data'],
  message: {
    from: sampleExtension.from,
    messageIdHeader: sampleExtension.messageIdHeader,
    tags: [],
    metadata: {},
    unsubscribeTopic: '',
    size: 1000,
    createdAt: at,
  },
  recipient: { id: newId('rcp', at), type: 'to', lastResponse: '250 2.0.0 Ok', attempts: 1, deliveredAt: null, openedAt: at },
})
