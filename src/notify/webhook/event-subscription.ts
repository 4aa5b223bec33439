import { publicEventTypes, webhookEventTypes, type WebhookEventType } from '../../mail/event/event-type.ts'
import { isServiceShape, type PayloadKind } from './payload-kind.ts'

export const isWebhookEventType = (name: string): name is WebhookEventType => (webhookEventTypes as readonly string[]).includes(name)

/**
 * The events of a webhook that names none: all that exist today, so that new event types never arrive unasked. Webhooks in another
 * service's shape also get deferrals, which their receivers know.
 */
export const usualEvents = (payload: PayloadKind): WebhookEventType[] => [
  ...(isServiceShape(payload) ? webhookEventTypes : publicEventTypes),
]

/** The form stored in the column: `,email.sent,email.delivered,`, for `like '%,email.sent,%'`. */
export const eventsText = (events: readonly WebhookEventType[]): string => `,${events.join(',')},`

export const parseEventsText = (text: string): WebhookEventType[] => text.split(',').filter(isWebhookEventType)
