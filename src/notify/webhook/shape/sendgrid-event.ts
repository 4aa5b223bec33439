import { happenedAt, isHard, isSuppressed, labelsOf, textIn, withoutNulls, type EventDetails } from '../event-details.ts'

/** SendGrid's bounce classifications; `Unclassified` if none fits. */
const classifications: Record<string, string> = {
  invalid_recipient: 'Invalid Address',
  mailbox_full: 'Mailbox Unavailable',
  domain_not_found: 'Technical',
  content_rejected: 'Content',
  reputation: 'Reputation',
  timeout: 'Technical',
  expired: 'Technical',
  internal_error: 'Technical',
}

/** An event of SendGrid's Event Webhook. Custom arguments are members beside its own, which win if both have the same name. */
export const sendGridEvent = (event: EventDetails): object => ({
  ...event.message.metadata,
  email: event.data['to'],
  timestamp: Math.floor(happenedAt(event) / 1000),
  ...withoutNulls({ 'smtp-id': event.message.messageIdHeader }),
  ...(labelsOf(event).length > 0 ? { category: labelsOf(event) } : {}),
  sg_event_id: event.id,
  sg_message_id: event.data['email_id'],
  ...withoutNulls(ownMembers(event)),
})

function ownMembers(event: EventDetails): Record<string, unknown> {
  switch (event.type) {
    case 'email.sent':
      return { event: 'processed' }
    case 'email.delivered':
      return { event: 'delivered', response: event.recipient.lastResponse }
    case 'email.deferred':
      return { event: 'deferred', response: textIn(event, 'reason'), attempt: String(event.recipient.attempts) }
    case 'email.bounced':
      return bounce(event)
    case 'email.opened':
      return { event: 'open', ...client(event), sg_machine_open: event.data['bot'] === true }
    case 'email.clicked':
      return { event: 'click', url: textIn(event, 'link'), ...client(event) }
    case 'email.complained':
      return { event: 'spamreport' }
    case 'email.unsubscribed':
      return unsubscription(event)
  }
}

function bounce(event: EventDetails): Record<string, unknown> {
  const said = { reason: textIn(event, 'reason'), status: textIn(event, 'enhanced_status') }
  if (isSuppressed(event)) return { event: 'dropped', ...said }
  return {
    event: 'bounce',
    // A block does not count against the address.
    type: isHard(event) ? 'bounce' : 'blocked',
    ...said,
    bounce_classification: classifications[textIn(event, 'bounce_category') ?? ''] ?? 'Unclassified',
  }
}

/** A numeric topic comes from `asm.group_id`. */
function unsubscription({ message: { unsubscribeTopic: topic } }: EventDetails): Record<string, unknown> {
  return /^\d{1,9}$/.test(topic ?? '') ? { event: 'group_unsubscribe', asm_group_id: Number(topic) } : { event: 'unsubscribe' }
}

const client = (event: EventDetails) => ({ useragent: textIn(event, 'user_agent'), ip: textIn(event, 'ip_address') })
