import { SternaError, type FieldFault } from '../errors.ts'
import { publicEventTypes } from '../event/event-type.ts'
import { isServiceShape, type PayloadKind } from './payload-kind.ts'

/** What a webhook can ask for: the public events and, once asked for, deferrals. */
export const webhookEventTypes = [...publicEventTypes, 'email.deferred'] as const
export type WebhookEventType = (typeof webhookEventTypes)[number]

export const isWebhookEventType = (name: string): name is WebhookEventType => (webhookEventTypes as readonly string[]).includes(name)

/**
 * The events of a webhook that names none: all of today's, so that an event type added later never arrives unasked. Receivers of other
 * services' webhooks know deferrals.
 */
export const usualEvents = (payload: PayloadKind): WebhookEventType[] => [
  ...(isServiceShape(payload) ? webhookEventTypes : publicEventTypes),
]

/**
 * The events a webhook is to get: those named, each once and in the order of `webhookEventTypes`; null, the usual ones, where
 * none are named.
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

/** How a column holds them: `,email.sent,email.delivered,`, which `like '%,email.sent,%'` finds. */
export const eventsText = (events: readonly WebhookEventType[]): string => `,${events.join(',')},`

export const parseEventsText = (text: string): WebhookEventType[] => text.split(',').filter(isWebhookEventType)
