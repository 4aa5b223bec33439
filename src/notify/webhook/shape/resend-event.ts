import { isoTime } from '../../../platform/iso-time.ts'
import { happenedAt, isHard, isSuppressed, textIn, type EventDetails } from '../event-details.ts'

/** A Resend event; null if Resend has none. It does not report unsubscribing from a single email. */
export function resendEvent(event: EventDetails): object | null {
  const own = ownMembers(event)
  if (own === null) return null
  const [type, members] = own
  return {
    type,
    // Not Resend's: events within a millisecond are sorted by it.
    id: event.id,
    created_at: isoTime(happenedAt(event)),
    data: {
      created_at: isoTime(event.message.createdAt),
      email_id: event.data['email_id'],
      message_id: event.message.messageIdHeader ?? '',
      from: event.message.from ?? '',
      to: [event.data['to']],
      subject: event.data['subject'],
      tags: Object.fromEntries(event.message.tags.map(({ name, value }) => [name, value])),
      ...members,
    },
  }
}

function ownMembers(event: EventDetails): [type: string, members: object] | null {
  switch (event.type) {
    case 'email.sent':
    case 'email.delivered':
    case 'email.complained':
    case 'email.opened':
      return [event.type, {}]
    case 'email.deferred':
      return ['email.delivery_delayed', {}]
    case 'email.bounced':
      return failure(event)
    case 'email.clicked':
      return [
        event.type,
        {
          click: {
            ipAddress: textIn(event, 'ip_address') ?? '',
            link: textIn(event, 'link') ?? '',
            timestamp: isoTime(happenedAt(event)),
            userAgent: textIn(event, 'user_agent') ?? '',
          },
        },
      ]
    case 'email.unsubscribed':
      return null
  }
}

/** Resend's names for bounce types, which are those of Amazon SES; `General` if none fits. */
const subTypes: Record<string, string> = {
  invalid_recipient: 'NoEmail',
  mailbox_full: 'MailboxFull',
  content_rejected: 'ContentRejected',
}

function failure(event: EventDetails): [type: string, members: object] {
  const message = textIn(event, 'reason') ?? ''
  const category = textIn(event, 'bounce_category') ?? ''
  if (isSuppressed(event)) return ['email.suppressed', { suppressed: { message, type: 'OnAccountSuppressionList' } }]
  if (category === 'internal_error') return ['email.failed', { failed: { reason: message } }]
  const type = isHard(event) ? 'Permanent' : 'Transient'
  return ['email.bounced', { bounce: { message, type, subType: subTypes[category] ?? 'General' } }]
}
