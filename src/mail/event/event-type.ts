/** The types that receivers can subscribe to. */
export const publicEventTypes = [
  'email.sent',
  'email.delivered',
  'email.opened',
  'email.clicked',
  'email.bounced',
  'email.complained',
  'email.unsubscribed',
] as const

export type PublicEventType = (typeof publicEventTypes)[number]

/** The public types, and those that only the log shows. */
export type EventType = PublicEventType | 'email.queued' | 'email.deferred' | 'email.relayed' | 'email.canceled' | 'email.rejudged'
