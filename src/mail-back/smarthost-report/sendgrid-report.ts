import { textOf, type JsonObject } from '../../platform/json-values.ts'
import { delivered, statusOf, textOrNull, undelivered, type DeliveryFate, type ReadEvent } from './smarthost-report.ts'

/** The name of our reference among the unique arguments of a message, which become members of its events. */
const argument = 'sterna_ref'

/** Reads one event of a batch of SendGrid (documentation: "Event Webhook Reference"). */
export const readSendgridEvent: ReadEvent = (event) => ({
  reference: textOf(event[argument]),
  address: textOf(event['email']),
  said: saidBy(event),
})

function saidBy(event: JsonObject) {
  switch (event['event']) {
    case 'delivered':
      return delivered(textOrNull(event['response']))
    case 'deferred':
      return undelivered('delayed', textOrNull(event['response'] ?? event['reason']), statusOf(event['status']))
    case 'bounce':
      return { ...undelivered('failed', textOrNull(event['reason']), statusOf(event['status'])), isSoft: event['type'] === 'blocked' }
    case 'dropped':
      return dropped(event)
    case 'spamreport':
      return { feedbackType: 'abuse' }
    case 'unsubscribe':
    case 'group_unsubscribe':
      return { feedbackType: 'opt-out' }
    default:
      return null
  }
}

/** SendGrid did not try: by its own list, or because of the content. */
function dropped(event: JsonObject): DeliveryFate {
  const reason = textOf(event['reason'])
  const status = /^(?:Bounced Address|Invalid)$/i.test(reason) ? '5.1.1' : '5.7.1'
  return { action: 'failed', status, reply: null, words: reason || null }
}
