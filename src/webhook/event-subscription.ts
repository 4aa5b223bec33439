import { SternaError, type FieldFault } from '../errors.ts'
import { publicEventTypes, type PublicEventType } from '../event/event-type.ts'

export const isPublicEventType = (name: string): name is PublicEventType => (publicEventTypes as readonly string[]).includes(name)

/**
 * The events a webhook is to get: those named, each once and in the order of `publicEventTypes`; all of today's where
 * none are named (null), so that an event type added later never arrives unasked.
 * @throws SternaError `validation_error` for an empty list, `invalid_event_type`
 */
export function subscribedEvents(names: readonly string[] | null): PublicEventType[] {
  if (names === null) return [...publicEventTypes]
  const known = `The events are ${publicEventTypes.join(', ')}.`
  if (names.length === 0) {
    const message = 'The `events` field must name at least one event; leave it out to get all.'
    throw new SternaError('validation_error', message, { faults: [{ field: 'events', code: 'too_few', message, help: known }] })
  }
  const faults = names.flatMap((name, place): FieldFault[] => {
    if (isPublicEventType(name)) return []
    return [{ field: `events.${place}`, code: 'invalid_event_type', message: `There is no event "${name.slice(0, 64)}".`, help: known }]
  })
  if (faults[0]) throw new SternaError('invalid_event_type', `${faults[0].message} ${known}`, { faults: faults.slice(0, 20) })
  return publicEventTypes.filter((type) => names.includes(type))
}

/** How a column holds them: `,email.sent,email.delivered,`, which `like '%,email.sent,%'` finds. */
export const eventsText = (events: readonly PublicEventType[]): string => `,${events.join(',')},`

export const parseEventsText = (text: string): PublicEventType[] => text.split(',').filter(isPublicEventType)
