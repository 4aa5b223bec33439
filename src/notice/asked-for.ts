import type { EventType } from '../event/event-type.ts'
import type { NoticeAction } from './notice.ts'

/** The events that notices are made of, with the keyword of NOTIFY that asks for each. */
const actions: Partial<Record<EventType, { action: NoticeAction; keyword: string }>> = {
  'email.bounced': { action: 'failed', keyword: 'FAILURE' },
  'email.deferred': { action: 'delayed', keyword: 'DELAY' },
  'email.delivered': { action: 'delivered', keyword: 'SUCCESS' },
  'email.relayed': { action: 'relayed', keyword: 'SUCCESS' },
}

/** Without NOTIFY failures are told (RFC 3461 5.2.2), and delays as most servers do. */
const standard = 'FAILURE,DELAY'

/**
 * What the submitter of a recipient wants to be told of an event; null: nothing.
 * @param notify of RCPT (RFC 3461 4.1): `NEVER` or a list of `SUCCESS`, `FAILURE`, `DELAY`; null where it was not given
 */
export function askedFor(type: EventType, notify: string | null): NoticeAction | null {
  const told = actions[type]
  return told && (notify ?? standard).split(',').includes(told.keyword) ? told.action : null
}
