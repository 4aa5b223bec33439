import { objectOf, textOf, type JsonObject } from '../../platform/json-values.ts'
import { maxRecipients, type Feedback, type ReportedRecipient } from './feedback.ts'
import { PhaseText } from './reported-phase.ts'
import { reportedRecipient } from './reported-recipient.ts'
import type { ReturnedMessage, Vocabulary } from './returned-message.ts'

/** What a notification says. */
type SesNotification = Pick<Feedback, 'class' | 'recipients' | 'complaint'>

const classes = new Map<unknown, Feedback['class']>([
  ['Bounce', 'bounce'],
  ['Complaint', 'complaint'],
  ['Delivery', 'delivered'],
])

/**
 * Parses a notification of Amazon SES (developer guide: "Notification contents"). SES serves some as a smarthost, and mails its reports as
 * JSON, alone or in an SNS envelope. Null if the message has none.
 */
export function parseSesNotification({ text, vocabulary }: ReturnedMessage): SesNotification | null {
  const notification = /"(?:notificationType|eventType|TopicArn)"|\\"notificationType\\"/.test(text) ? notificationIn(text) : {}
  const type = notification['notificationType'] ?? notification['eventType']
  const feedbackClass = classes.get(type)
  if (!feedbackClass) return null
  const told = objectOf(notification[textOf(type).toLowerCase()])
  const entries = told['bouncedRecipients'] ?? told['complainedRecipients'] ?? told['recipients']
  if (type === 'Bounce' && isAutomaticReply(told)) return { class: 'autoreply', recipients: [], complaint: null }
  const recipients = (Array.isArray(entries) ? entries : []).slice(0, maxRecipients).map((entry: unknown) => {
    const recipient = recipientOf(
      { emailAddress: entry, ...objectOf(entry), ...(type !== 'Bounce' && { action: 'delivered' }) },
      vocabulary,
    )
    return { ...recipient, hard: recipient.hard && told['bounceType'] === 'Permanent' }
  })
  const feedbackType = textOf(told['complaintFeedbackType']).toLowerCase() || 'abuse'
  const complaint = type === 'Complaint' ? { feedbackType, reportedBy: textOf(told['userAgent']) || null } : null
  return { class: feedbackClass, recipients, complaint }
}

/** Whether what SES calls a bounce is an automatic reply, such as an out-of-office note: it has no status then, as a bounce has. */
export function isAutomaticReply({ bounceType, bounceSubType, bouncedRecipients: entries }: JsonObject): boolean {
  const hasStatus = (entry: unknown): boolean => ['action', 'status', 'diagnosticCode'].some((name) => textOf(objectOf(entry)[name]) !== '')
  return bounceType === 'Transient' && bounceSubType === 'General' && !(Array.isArray(entries) && entries.some(hasStatus))
}

/** The JSON object in a text. Long lines may have been broken in transit (`!` and a line end). */
function notificationIn(text: string): JsonObject {
  const source = text.replace(/!\n /g, '')
  const start = source.indexOf('{')
  // The service's signature follows, from a line of hyphens on.
  const signature = source.indexOf('\n--', start)
  const end = source.lastIndexOf('}', signature < 0 ? source.length : signature)
  const outer = start < 0 ? {} : jsonIn(source.slice(start, end + 1))
  const inner = outer['Message']
  return typeof inner === 'string' ? jsonIn(inner) : outer
}

function jsonIn(text: string): JsonObject {
  try {
    return objectOf(JSON.parse(text))
  } catch {
    return {}
  }
}

/** A recipient has the fields of a delivery status under other names. */
function recipientOf({ emailAddress, action, status, diagnosticCode }: JsonObject, { rules }: Vocabulary): ReportedRecipient {
  const values = { 'final-recipient': emailAddress, action, status, 'diagnostic-code': diagnosticCode }
  const fields = Object.entries(values).filter(([, value]) => textOf(value) !== '')
  return reportedRecipient(new Map(fields.map(([name, value]) => [name, [textOf(value)]])), new PhaseText(''), rules)
}
