import type { EventType } from '../../mail/event/event-type.ts'
import type { NoticeAction } from './notice.ts'

/** The events that cause notices, and the NOTIFY keyword that requests each. */
const actions: Partial<Record<EventType, { action: NoticeAction; keyword: string }>> = {
  'email.bounced': { action: 'failed', keyword: 'FAILURE' },
  'email.deferred': { action: 'delayed', keyword: 'DELAY' },
  'email.delivered': { action: 'delivered', keyword: 'SUCCESS' },
  'email.relayed': { action: 'relayed', keyword: 'SUCCESS' },
}

/** Without NOTIFY, failures are reported (RFC 3461 5.2.2), and delays, as most servers do. */
const standard = 'FAILURE,DELAY'

/**
 * The notice that the submitter wants for an event; null for none.
 * @param notify of RCPT (RFC 3461 4.1): `NEVER`, or a list of `SUCCESS`, `FAILURE`, `DELAY`; null if absent
 */
export function askedFor(type: EventType, notify: string | null): NoticeAction | null {
  const told = actions[type]
  return told && (notify ?? standard).split(',').includes(told.keyword) ? told.action : null
}
