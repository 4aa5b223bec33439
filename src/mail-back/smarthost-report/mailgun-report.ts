import {
  delivered,
  objectOf,
  statusOf,
  textOf,
  textOrNull,
  type DeliveryFate,
  type ReadEvent,
  type ReportJson,
} from './smarthost-report.ts'

/** The name of our reference among the variables of a message. */
const variable = 'sterna-ref'

/** Reads a webhook of Mailgun (documentation: "Webhook payloads"). */
export const readMailgunEvent: ReadEvent = (body) => {
  const event = objectOf(body['event-data'])
  const reference = textOf(objectOf(event['user-variables'])[variable])
  const said = saidBy(event)
  return reference === '' || said === null ? null : { reference, address: textOf(event['recipient']), said }
}

function saidBy(event: ReportJson) {
  switch (event['event']) {
    case 'delivered':
      return delivered(replyIn(objectOf(event['delivery-status'])))
    case 'failed':
      return failure(event)
    case 'rejected': {
      const { reason, description } = objectOf(event['reject'])
      return { action: 'failed', status: '5.7.1', reply: null, words: textOrNull(description) ?? textOrNull(reason) } as const
    }
    case 'complained':
      return { feedbackType: 'abuse' }
    case 'unsubscribed':
      return { feedbackType: 'opt-out' }
    default:
      return null
  }
}

/** Codes from 600 on are Mailgun's own: it did not try, because of what it knows of the address. */
function failure(event: ReportJson): DeliveryFate {
  const status = objectOf(event['delivery-status'])
  const words = textOrNull(status['message']) ?? textOrNull(status['description']) ?? textOrNull(event['reason'])
  const action = event['severity'] === 'temporary' ? 'delayed' : 'failed'
  const reply = replyIn(status)
  if (reply !== null) return { action, status: statusOf(status['enhanced-code']), reply, words: null }
  const known = { 'suppress-bounce': '5.1.1', 'suppress-complaint': '5.7.1', 'suppress-unsubscribe': '5.7.1' }[textOf(event['reason'])]
  return { action, status: known ?? (action === 'delayed' ? '4.0.0' : '5.0.0'), reply: null, words }
}

/** What the recipient's host said. Without a host, the code and the words are Mailgun's. */
function replyIn({ code, message, 'mx-host': host }: ReportJson): string | null {
  const isReply = textOf(host) !== '' && Number(code) >= 200 && Number(code) < 600
  return isReply ? `${textOf(code)} ${textOf(message)}` : null
}
