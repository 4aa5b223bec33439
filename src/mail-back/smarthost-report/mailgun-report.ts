import { objectOf, textOf, type JsonObject } from '../../platform/json-values.ts'
import { delivered, statusOf, textOrNull, unspecified, type DeliveryFate, type ReadEvent } from './smarthost-report.ts'

/** The name of our reference among the variables of a message. */
const variable = 'sterna-ref'

/** Reads a webhook of Mailgun (documentation: "Webhook payloads"). */
export const readMailgunEvent: ReadEvent = (body) => {
  const event = objectOf(body['event-data'])
  return { reference: textOf(objectOf(event['user-variables'])[variable]), address: textOf(event['recipient']), said: saidBy(event) }
}

function saidBy(event: JsonObject) {
  switch (event['event']) {
    case 'delivered':
      return delivered(hostReplyIn(objectOf(event['delivery-status'])))
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
function failure(event: JsonObject): DeliveryFate {
  const status = objectOf(event['delivery-status'])
  const words = textOrNull(status['message']) ?? textOrNull(status['description']) ?? textOrNull(event['reason'])
  const action = event['severity'] === 'temporary' ? 'delayed' : 'failed'
  const reply = hostReplyIn(status)
  if (reply !== null) return { action, status: statusOf(status['enhanced-code']), reply, words: null }
  const known = { 'suppress-bounce': '5.1.1', 'suppress-complaint': '5.7.1', 'suppress-unsubscribe': '5.7.1' }[textOf(event['reason'])]
  return { action, status: known ?? unspecified[action], reply: null, words }
}

/** What the recipient's host said. Without a host, the code and the words are Mailgun's. */
function hostReplyIn({ code, message, 'mx-host': host }: JsonObject): string | null {
  const isReply = textOf(host) !== '' && Number(code) >= 200 && Number(code) < 600
  return isReply ? `${textOf(code)} ${textOf(message)}` : null
}
