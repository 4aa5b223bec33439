import { numberOfId, uuidOfId } from '../../../platform/id.ts'
import { bareMessageId, happenedAt, isSuppressed, labelsOf, textIn, type EventDetails } from '../event-details.ts'

/**
 * The body of a Postal webhook; null if Postal has none for the event. A Postal message has one recipient: `id`
 * is our id as a number, `token` is our id.
 */
export function postalEvent(event: EventDetails): object | null {
  const own = payloadOf(event)
  if (own === null) return null
  const [name, payload] = own
  return { event: name, timestamp: seconds(happenedAt(event)), uuid: uuidOfId(event.id), payload }
}

function payloadOf(event: EventDetails): [name: string, payload: object] | null {
  switch (event.type) {
    case 'email.delivered':
      return ['MessageSent', status(event, 'Sent', 'Message sent by SMTP', event.recipient.lastResponse)]
    case 'email.deferred':
      return ['MessageDelayed', status(event, 'SoftFail', 'Delivery is tried again later', textIn(event, 'reason'))]
    case 'email.bounced':
      return failure(event)
    case 'email.opened':
      return ['MessageLoaded', { ...client(event), message: message(event) }]
    case 'email.clicked':
      return ['MessageLinkClicked', { url: textIn(event, 'link'), token: event.id, ...client(event), message: message(event) }]
    case 'email.sent':
    case 'email.complained':
    case 'email.unsubscribed':
      return null
  }
}

/** Delivered mail that came back is a bounce, refused mail is a failure, and mail that was never tried is held. */
function failure(event: EventDetails): [name: string, payload: object] {
  const reason = textIn(event, 'reason')
  if (isSuppressed(event)) return ['MessageHeld', status(event, 'Held', reason ?? '', null)]
  if (event.recipient.deliveredAt === null) return ['MessageDeliveryFailed', status(event, 'HardFail', 'Delivery has failed', reason)]
  const bounce = { id: numberOfId(event.id), token: event.id, direction: 'incoming', message_id: null, to: null, from: null }
  return [
    'MessageBounced',
    { original_message: message(event), bounce: { ...bounce, subject: reason, timestamp: seconds(happenedAt(event)) } },
  ]
}

const status = (event: EventDetails, name: string, details: string, output: string | null) => ({
  status: name,
  details,
  output: output ?? '',
  time: null,
  sent_with_ssl: null,
  timestamp: seconds(happenedAt(event)),
  message: message(event),
})

const message = (event: EventDetails) => ({
  id: event.recipient.id === null ? null : numberOfId(event.recipient.id),
  token: event.recipient.id,
  direction: 'outgoing',
  message_id: bareMessageId(event),
  to: event.data['to'],
  from: event.message.from,
  subject: event.data['subject'],
  timestamp: seconds(event.message.createdAt),
  spam_status: 'NotChecked',
  tag: labelsOf(event)[0] ?? null,
})

const client = (event: EventDetails) => ({ ip_address: textIn(event, 'ip_address'), user_agent: textIn(event, 'user_agent') })

const seconds = (ms: number): number => ms / 1000
