import { SternaError, type FieldFault } from '../../platform/errors.ts'
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

/**
 * The events that a webhook gets: those named, without duplicates, in the order of `webhookEventTypes`;
 * null, the usual ones, if none are named.
 * @throws SternaError `validation_error` for an empty list, `invalid_event_type`
 */
export function subscribedEvents(names: readonly string[] | null): WebhookEventType[] | null {
  if (names === null) return null
  const known = `The events are ${webhookEventTypes.join(', ')}.`
  if (names.length === 0) {
    const message = 'The `events` field must name at least one event; omit it to get all events.'
    throw new SternaError('validation_error', message, { faults: [{ field: 'events', code: 'too_few', message, help: known }] })
  }
  const faults = names.flatMap((name, place): FieldFault[] => {
    if (isWebhookEventType(name)) return []
    return [{ field: `events.${place}`, code: 'invalid_event_type', message: `There is no event "${name.slice(0, 64)}".`, help: known }]
  })
  if (faults[0]) throw new SternaError('invalid_event_type', `${faults[0].message} ${known}`, { faults: faults.slice(0, 20) })
  return webhookEventTypes.filter((type) => names.includes(type))
}

/** The form stored in the column: `,email.sent,email.delivered,`, for `like '%,email.sent,%'`. */
export const eventsText = (events: readonly WebhookEventType[]): string => `,${events.join(',')},`

export const parseEventsText = (text: string): WebhookEventType[] => text.split(',').filter(isWebhookEventType)
