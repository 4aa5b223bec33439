import { isAutomatic, isDispositionNotification, isPersonalReply, dispositionNotification } from './automatic-reply.ts'
import {
  maxRecipients,
  type FeedbackClass,
  type Feedback,
  type ProvenRecipient,
  type ReportedRecipient,
  maxReasonLength,
} from './feedback.ts'
import { originalMessage } from './original-message.ts'
import { parseBounceText } from './parse-bounce-text.ts'
import { parseComplaint } from './parse-complaint.ts'
import { parseDsn } from './parse-dsn.ts'
import { parseSesNotification } from './parse-ses-notification.ts'
import { reportedAddresses, reportedAddress } from './reported-address.ts'
import { valuesOf, type ReturnedMessage } from './returned-message.ts'
import { parseStatusFields } from './status-fields.ts'

/**
 * What a returned message means. The order matters, because one kind quotes another. Complaints and delivery statuses are recognised by
 * their parts, whatever the header says, because every report is also an automatic reply (RFC 3834 5). An automatic reply from a mailbox is
 * no bounce, whatever it quotes. Only then does the text count.
 */
export function parseFeedback(message: ReturnedMessage, about: ProvenRecipient | null = null): Feedback {
  const complained = parseComplaint(message)
  if (complained) {
    const { complaint, addresses, reversePath } = complained
    const feedback = feedbackOf(message, 'complaint', addresses.map(whoComplained))
    return { ...feedback, complaint, original: { ...feedback.original, reversePath: feedback.original.reversePath ?? reversePath } }
  }
  const notification = parseSesNotification(message)
  if (notification) return { ...feedbackOf(message, notification.class), ...notification }
  const rejection = parseRejection(message)
  if (rejection) return feedbackOf(message, 'bounce', [rejection])
  if (isDispositionNotification(message)) return feedbackOf(message, 'autoreply')
  const reported = parseDsn(message, about)
  if (reported) return deliveryReport(message, withGivenUp(reported, message), about)
  if (isPersonalReply(message)) return feedbackOf(message, 'autoreply')
  const told = parseBounceText(message, about)
  if (told.length > 0) return feedbackOf(message, classOf(told), told)
  return feedbackOf(message, isAutomatic(message) ? 'autoreply' : 'not-bounce')
}

/** Adds the text's findings to recipients for whom the status gives no words, or may be wrong. */
function deliveryReport(message: ReturnedMessage, reported: ReportedRecipient[], about: ProvenRecipient | null): Feedback {
  const isClear = reported.length > 0 && !reported.some((recipient) => saysNothing(recipient) || recipient.hard)
  const told = isClear ? [] : parseBounceText(message, about, addressesOf(reported))
  if (reported.length === 0) return statusWithoutRecipients(message, told, about)
  // If both name exactly one recipient, it is the same one under two names.
  const only = reported.length === 1 && told.length === 1 ? told[0] : undefined
  const recipients = reported.map((recipient) => {
    const found = told.find(({ address }) => address !== null && address.toLowerCase() === recipient.address?.toLowerCase()) ?? only
    return found ? withText(recipient, found) : recipient
  })
  return feedbackOf(message, classOf(recipients), recipients)
}

const addressesOf = (recipients: ReportedRecipient[]): string[] => recipients.flatMap(({ address }) => address ?? [])

/** Some bounces name nobody. Then the original's addressee counts, if there is just one. */
function statusWithoutRecipients(message: ReturnedMessage, told: ReportedRecipient[], about: ProvenRecipient | null): Feedback {
  if (told.length > 0) return feedbackOf(message, classOf(told), told)
  const [address, ...others] = about ? [null] : reportedAddresses(valuesOf(originalMessage(message).headers, 'to'))
  if (address === undefined || others.length > 0) return feedbackOf(message, 'not-bounce')
  return feedbackOf(message, 'bounce', [{ address, action: 'failed', ...unexplained }])
}

/** True if the status names nobody or gives no reason. */
const saysNothing = ({ action, address, reason }: ReportedRecipient): boolean =>
  address === null || (action === 'failed' && !/\p{L}{3}/u.test(reason))

/** A status may hold only the first line of a reply that the text has in full, and Sendmail's calls every 550 an unknown user. */
function contradicts(told: ReportedRecipient, { reason }: ReportedRecipient): boolean {
  if (told.hard || told.category === 'other' || told.category === 'invalid_recipient') return false
  return told.category === 'mailbox_full' || (reason !== '' && told.reason.includes(reason.slice(0, 40)))
}

/** A recipient with the text's findings. */
function withText(recipient: ReportedRecipient, told: ReportedRecipient): ReportedRecipient {
  if (recipient.hard && contradicts(told, recipient)) return { ...recipient, hard: false, inWords: undefined, category: told.category }
  if (!saysNothing(recipient)) return recipient
  const address = recipient.address ?? told.address
  // Words that quote no reply may be a footer. A status that says something outweighs them.
  const isDecided = recipient.category !== 'other' && told.smtpCode === null
  if (recipient.action !== 'failed' || told.category === 'other' || isDecided) return { ...recipient, address }
  return { ...recipient, address, category: told.category, hard: told.hard, inWords: told.inWords, reason: recipient.reason || told.reason }
}

/** Mail that failed or is delayed outweighs what arrived. */
const classOf = (recipients: readonly ReportedRecipient[]): FeedbackClass =>
  recipients.some(({ action }) => action === 'failed' || action === 'delayed') ? 'bounce' : 'delivered'

/** For recipients known only by what became of the message. */
const unexplained = { hard: false, status: null, category: 'other', smtpCode: null, reason: '' } as const

/** Whoever complains has received the message. */
const whoComplained = (address: string): ReportedRecipient => ({ address, action: 'delivered', ...unexplained })

function feedbackOf(message: ReturnedMessage, feedbackClass: FeedbackClass, recipients: ReportedRecipient[] = []): Feedback {
  const { headers: _, ...original } = originalMessage(message)
  return {
    class: feedbackClass,
    recipients: recipients.slice(0, maxRecipients),
    complaint: null,
    original,
    subject: message.field('subject').slice(0, 1000),
  }
}

/**
 * Corrects final delays to failures. OpenSMTPD up to 6.8 derives the action from the class of the status, and uses a transient one when
 * mail expires, so it announces another seven days.
 */
function withGivenUp(recipients: ReportedRecipient[], { text }: ReturnedMessage): ReportedRecipient[] {
  if (!recipients.some(({ action }) => action === 'delayed')) return recipients
  const lines = text.matchAll(/^(\S{1,320}): (Envelope expired|Loop detected)$/gm)
  const reasons = new Map(Array.from(lines, ([, address = '', reason = '']) => [address, reason]))
  return recipients.map((recipient) => {
    const reason = reasons.get(recipient.address ?? '')
    if (reason === undefined || recipient.action !== 'delayed') return recipient
    return { ...recipient, action: 'failed', category: reason === 'Envelope expired' ? 'expired' : 'other', reason }
  })
}

/** Done without a person, and deleted (RFC 8098 3.2.6). */
const deletedBySystem = /^automatic-action\b.*;\s*deleted\b/i
/** Written by a filter that rejects; a filter that only deletes does not write it. */
const rejected = /^auto-replied\s*\(rejected\)/i

/**
 * A rejection sent as a disposition notification, as by Sieve's `reject` (RFC 5429 2.1.1). Null for every other notification: deleting a
 * message unread may send one, too, with any text quoted. Never hard, because a mailbox with a filter exists.
 */
function parseRejection(message: ReturnedMessage): ReportedRecipient | null {
  const notification = message.part(dispositionNotification)
  if (!notification || !rejected.test(message.field('auto-submitted'))) return null
  const [fields] = parseStatusFields(notification.content)
  const valueOf = (name: string): string => fields?.get(name)?.[0] ?? ''
  if (!deletedBySystem.test(valueOf('disposition'))) return null
  return {
    address: reportedAddress(valueOf('final-recipient') || valueOf('original-recipient')),
    action: 'failed',
    hard: false,
    status: null,
    category: 'policy',
    smtpCode: null,
    reason: message.text.replace(/\s+/g, ' ').trim().slice(0, maxReasonLength),
  }
}
