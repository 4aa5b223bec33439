import { numberOfId } from '../../../platform/id.ts'
import { isoTime } from '../../../platform/iso-time.ts'
import { happenedAt, isHard, isSuppressed, labelsOf, textIn, type EventDetails } from '../event-details.ts'
import { bounceTypeOf, spamComplaint, transient, type PostmarkBounceType } from './postmark-bounce.ts'

/** The body of a Postmark webhook; null if Postmark has none: for `email.sent`, and for suppressed addresses, which its API refuses. */
export function postmarkEvent(event: EventDetails): object | null {
  const at = isoTime(happenedAt(event))
  switch (event.type) {
    case 'email.sent':
      return null
    case 'email.delivered':
      return {
        RecordType: 'Delivery',
        ...common(event),
        Recipient: event.data['to'],
        DeliveredAt: at,
        Details: event.recipient.lastResponse ?? '',
      }
    case 'email.deferred':
      return bounce(event, transient, { isInactive: false })
    case 'email.bounced': {
      if (isSuppressed(event)) return null
      const hard = isHard(event)
      return bounce(event, bounceTypeOf(textIn(event, 'bounce_category'), hard), { isInactive: hard })
    }
    case 'email.complained':
      return { ...bounce(event, spamComplaint, { isInactive: true }), RecordType: 'SpamComplaint' }
    case 'email.opened':
      return { RecordType: 'Open', ...hit(event), FirstOpen: event.recipient.openedAt === happenedAt(event) }
    case 'email.clicked':
      return { RecordType: 'Click', ...hit(event), ClickLocation: 'HTML', OriginalLink: textIn(event, 'link') ?? '' }
    case 'email.unsubscribed':
      return {
        RecordType: 'SubscriptionChange',
        ...common(event),
        Recipient: event.data['to'],
        ChangedAt: at,
        Origin: 'Recipient',
        SuppressSending: true,
        SuppressionReason: 'ManualSuppression',
      }
  }
}

const common = (event: EventDetails) => ({
  // Not Postmark's: events within a millisecond are sorted by it.
  EventID: event.id,
  MessageID: event.data['email_id'],
  ServerID: 0,
  MessageStream: 'outbound',
  Tag: labelsOf(event)[0] ?? '',
  Metadata: event.message.metadata,
})

const bounce = (event: EventDetails, type: PostmarkBounceType, { isInactive }: { isInactive: boolean }) => ({
  RecordType: 'Bounce',
  ID: numberOfId(event.id),
  ...type,
  ...common(event),
  Details: textIn(event, 'reason') ?? '',
  Email: event.data['to'],
  From: event.message.from ?? '',
  BouncedAt: isoTime(happenedAt(event)),
  DumpAvailable: false,
  Inactive: isInactive,
  CanActivate: isInactive,
  Subject: event.data['subject'],
})

const hit = (event: EventDetails) => ({
  ...common(event),
  Recipient: event.data['to'],
  ReceivedAt: isoTime(happenedAt(event)),
  Platform: 'Unknown',
  Client: {},
  OS: {},
  UserAgent: textIn(event, 'user_agent') ?? '',
  Geo: textIn(event, 'ip_address') === null ? {} : { IP: textIn(event, 'ip_address') },
})
