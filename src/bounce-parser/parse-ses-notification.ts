import { mostRecipients, type Feedback, type ReportedRecipient } from './feedback.ts'
import { phaseText } from './reported-phase.ts'
import { reportedRecipient } from './reported-recipient.ts'
import { textOf, type ReturnedMessage } from './returned-message.ts'

/** What a notification says, in the shape of a report. */
type SesNotification = Pick<Feedback, 'class' | 'recipients' | 'complaint'>

type Json = Record<string, unknown>

/**
 * A notification of Amazon SES (its developer guide: "Notification contents"), which serves as a smarthost for some and
 * mails its reports as JSON, by itself or within an envelope of SNS. Null where the message holds none.
 */
export function parseSesNotification(message: ReturnedMessage): SesNotification | null {
  const text = textOf(message)
  const notification = /"(?:notificationType|eventType|TopicArn)"|\\"notificationType\\"/.test(text) ? notificationIn(text) : null
  switch (notification?.['notificationType'] ?? notification?.['eventType']) {
    case 'Bounce':
      return bounceOf(objectOf(notification?.['bounce']))
    case 'Complaint':
      return complaintOf(objectOf(notification?.['complaint']))
    case 'Delivery':
      return deliveryOf(objectOf(notification?.['delivery']))
    default:
      return null
  }
}

/** The object that stands in a text: long lines of it may have been broken on the way (`!` and a line end). */
function notificationIn(text: string): Json | null {
  const source = text.replace(/!\n /g, '')
  const start = source.indexOf('{')
  // Behind it the service signs, from a line of hyphens on.
  const signature = source.indexOf('\n--', start)
  const end = source.lastIndexOf('}', signature < 0 ? source.length : signature)
  const outer = start < 0 ? null : jsonIn(source.slice(start, end + 1))
  const inner = outer?.['Message']
  return typeof inner === 'string' ? jsonIn(inner) : outer
}

function jsonIn(text: string): Json | null {
  try {
    return objectOf(JSON.parse(text))
  } catch {
    return null
  }
}

const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, mostRecipients) : [])
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The fields of a recipient are those of a delivery status under other names. */
function recipientOf({ emailAddress, action, status, diagnosticCode }: Json): ReportedRecipient {
  const values = { 'final-recipient': emailAddress, action, status, 'diagnostic-code': diagnosticCode }
  const fields = Object.entries(values).filter(([, value]) => textIn(value) !== '')
  return reportedRecipient(new Map(fields.map(([name, value]) => [name, [textIn(value)]])), new Map(), phaseText(''))
}

function bounceOf(bounce: Json): SesNotification {
  const isPermanent = bounce['bounceType'] === 'Permanent'
  const recipients = listOf(bounce['bouncedRecipients']).map((entry) => recipientOf(objectOf(entry)))
  return { class: 'bounce', recipients: recipients.map((each) => ({ ...each, hard: each.hard && isPermanent })), complaint: null }
}

function complaintOf(complaint: Json): SesNotification {
  const recipients = listOf(complaint['complainedRecipients']).map((entry) => recipientOf({ ...objectOf(entry), action: 'delivered' }))
  const feedbackType = textIn(complaint['complaintFeedbackType']).toLowerCase() || 'abuse'
  return { class: 'complaint', recipients, complaint: { feedbackType, reportedBy: textIn(complaint['userAgent']) || null } }
}

function deliveryOf(delivery: Json): SesNotification {
  const recipients = listOf(delivery['recipients']).map((emailAddress) => recipientOf({ emailAddress, action: 'delivered' }))
  return { class: 'delivered', recipients, complaint: null }
}
