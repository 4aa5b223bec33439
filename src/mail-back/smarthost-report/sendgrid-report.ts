import { delivered, statusOf, textOf, textOrNull, type DeliveryFate, type ReadEvent, type ReportJson } from './smarthost-report.ts'

/** The name of our reference among the unique arguments of a message, which become members of its events. */
const argument = 'sterna_ref'

/** Reads one event of a batch of SendGrid (documentation: "Event Webhook Reference"). */
export const readSendgridEvent: ReadEvent = (event) => {
  const reference = textOf(event[argument])
  const said = saidBy(event)
  return reference === '' || said === null ? null : { reference, address: textOf(event['email']), said }
}

function saidBy(event: ReportJson) {
  switch (event['event']) {
    case 'delivered':
      return delivered(textOrNull(event['response']))
    case 'deferred':
      return fateOf('delayed', event, event['response'] ?? event['reason'])
    case 'bounce':
      return { ...fateOf('failed', event, event['reason']), isSoft: event['type'] === 'blocked' }
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

/** A reply begins with its code. */
const replyForm = /^[245]\d\d[ -]/

function fateOf(action: 'failed' | 'delayed', event: ReportJson, said: unknown): DeliveryFate {
  const text = textOrNull(said)
  const isReply = text !== null && replyForm.test(text)
  const known = statusOf(event['status'])
  const status = known ?? (isReply ? null : action === 'delayed' ? '4.0.0' : '5.0.0')
  return { action, status, reply: isReply ? text : null, words: isReply ? null : text }
}

/** SendGrid did not try: by its own list, or because of the content. */
function dropped(event: ReportJson): DeliveryFate {
  const reason = textOf(event['reason'])
  const status = /^(?:Bounced Address|Invalid)$/i.test(reason) ? '5.1.1' : '5.7.1'
  return { action: 'failed', status, reply: null, words: reason || null }
}
