import { isAutomaticReply } from '../../mail/bounce-parser/parse-ses-notification.ts'
import { objectOf, textOf, type JsonObject } from '../../platform/json-values.ts'
import { delivered, statusOf, textOrNull, undelivered, unspecified, type ReadEvent, type SmarthostReport } from './smarthost-report.ts'

/** Reads an event or a notification of SES, which come by SNS (developer guide: "Contents of event data", "Notification contents"). */
export const readSesEvent: ReadEvent = (event) => {
  const mail = objectOf(event['mail'])
  const type = textOf(event['eventType'] ?? event['notificationType'])
  // The member `deliveryDelay` has what is told of the type `DeliveryDelay`.
  const told = objectOf(event[type.charAt(0).toLowerCase() + type.slice(1)])
  const named = firstOf(told['recipients'] ?? told['bouncedRecipients'] ?? told['delayedRecipients'] ?? told['complainedRecipients'])
  const recipient = objectOf(named)
  return {
    reference: referenceIn(mail['headers']),
    address: textOf(named) || textOf(recipient['emailAddress']) || textOf(firstOf(mail['destination'])),
    said: saidBy(type, told, recipient),
  }
}

/** The header that SES returns is the message's own. */
function referenceIn(headers: unknown): string {
  const fields = Array.isArray(headers) ? headers.map(objectOf) : []
  return textOf(fields.find(({ name }) => textOf(name).toLowerCase() === 'x-sterna-ref')?.['value']).trim()
}

/** We hand over each message for one recipient, so each list has one entry. */
const firstOf = (list: unknown): unknown => (Array.isArray(list) ? list[0] : undefined)

function saidBy(type: string, told: JsonObject, recipient: JsonObject): SmarthostReport['said'] | null {
  switch (type) {
    case 'Delivery':
      return delivered(textOrNull(told['smtpResponse']))
    case 'Bounce':
      return isAutomaticReply(told) ? null : bounce(told, recipient)
    case 'DeliveryDelay':
      return delay(told, recipient)
    case 'Reject':
      return refused(textOrNull(told['reason']))
    case 'Complaint':
      return complaint(told)
    case 'Subscription':
      return objectOf(told['newTopicPreferences'])['unsubscribeAll'] === true ? { feedbackType: 'opt-out' } : null
    default:
      return null
  }
}

function delay({ delayType }: JsonObject, recipient: JsonObject): SmarthostReport['said'] {
  const told = textOrNull(recipient['diagnosticCode']) ?? textOrNull(delayType)
  return undelivered('delayed', told, statusOf(recipient['status']) ?? unspecified.delayed)
}

function bounce({ bounceType, bounceSubType }: JsonObject, recipient: JsonObject): SmarthostReport['said'] {
  const usual = bounceType === 'Permanent' ? '5.1.1' : bounceSubType === 'MailboxFull' ? '5.2.2' : unspecified.failed
  const told = textOrNull(recipient['diagnosticCode']) ?? `${textOf(bounceType)} ${textOf(bounceSubType)}`
  return { ...undelivered('failed', told, statusOf(recipient['status']) ?? usual), isSoft: bounceType !== 'Permanent' }
}

/** SES did not send the mail. */
const refused = (words: string | null) => ({ action: 'failed', status: '5.7.1', reply: null, words }) as const

/** With this subtype SES did not send the mail, because somebody has complained before. */
function complaint({ complaintSubType: subtype, complaintFeedbackType: type }: JsonObject): SmarthostReport['said'] {
  if (subtype === 'OnAccountSuppressionList') return refused(subtype)
  return { feedbackType: /^[a-z-]{1,40}$/.exec(textOf(type).toLowerCase())?.[0] ?? 'abuse' }
}
