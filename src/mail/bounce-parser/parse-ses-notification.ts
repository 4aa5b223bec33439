import { maxRecipients, type Feedback, type ReportedRecipient } from './feedback.ts'
import { PhaseText } from './reported-phase.ts'
import { reportedRecipient } from './reported-recipient.ts'
import type { ReturnedMessage, Vocabulary } from './returned-message.ts'

/** What a notification says. */
type SesNotification = Pick<Feedback, 'class' | 'recipients' | 'complaint'>

type Json = Record<string, unknown>

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
  const told = objectOf(notification[textIn(type).toLowerCase()])
  const entries = told['bouncedRecipients'] ?? told['complainedRecipients'] ?? told['recipients']
  const named = (Array.isArray(entries) ? entries : []).slice(0, maxRecipients)
  if (type === 'Bounce' && isAnswer(told, named)) return { class: 'autoreply', recipients: [], complaint: null }
  const recipients = named.map((entry: unknown) => {
    const recipient = recipientOf(
      { emailAddress: entry, ...objectOf(entry), ...(type !== 'Bounce' && { action: 'delivered' }) },
      vocabulary,
    )
    return { ...recipient, hard: recipient.hard && told['bounceType'] === 'Permanent' }
  })
  const feedbackType = textIn(told['complaintFeedbackType']).toLowerCase() || 'abuse'
  const complaint = type === 'Complaint' ? { feedbackType, reportedBy: textIn(told['userAgent']) || null } : null
  return { class: feedbackClass, recipients, complaint }
}

/** An automatic reply of a recipient, such as that somebody is out of office, is reported without what a bounce has. */
const isAnswer = ({ bounceType, bounceSubType }: Json, entries: unknown[]): boolean =>
  bounceType === 'Transient' &&
  bounceSubType === 'General' &&
  !entries.some((entry) => ['action', 'status', 'diagnosticCode'].some((name) => textIn(objectOf(entry)[name]) !== ''))

/** The JSON object in a text. Long lines may have been broken in transit (`!` and a line end). */
function notificationIn(text: string): Json {
  const source = text.replace(/!\n /g, '')
  const start = source.indexOf('{')
  // The service's signature follows, from a line of hyphens on.
  const signature = source.indexOf('\n--', start)
  const end = source.lastIndexOf('}', signature < 0 ? source.length : signature)
  const outer = start < 0 ? {} : jsonIn(source.slice(start, end + 1))
  const inner = outer['Message']
  return typeof inner === 'string' ? jsonIn(inner) : outer
}

function jsonIn(text: string): Json {
  try {
    return objectOf(JSON.parse(text))
  } catch {
    return {}
  }
}

const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A recipient has the fields of a delivery status under other names. */
function recipientOf({ emailAddress, action, status, diagnosticCode }: Json, { rules }: Vocabulary): ReportedRecipient {
  const values = { 'final-recipient': emailAddress, action, status, 'diagnostic-code': diagnosticCode }
  const fields = Object.entries(values).filter(([, value]) => textIn(value) !== '')
  return reportedRecipient(new Map(fields.map(([name, value]) => [name, [textIn(value)]])), new PhaseText(''), rules)
}
