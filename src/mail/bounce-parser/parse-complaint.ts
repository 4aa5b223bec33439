import type { Complaint } from './feedback.ts'
import { fieldsIn } from './fields.ts'
import { originalMessage, type OriginalMessage } from './original-message.ts'
import { reportedAddress, reportedAddresses } from './reported-address.ts'
import { valuesOf, type ReturnedMessage } from './returned-message.ts'

/** What a complaint says. */
interface ParsedComplaint {
  complaint: Complaint
  /** As written; may be redacted. */
  addresses: string[]
  /** The reverse-path of the message complained about, from a field of the report. */
  reversePath: string | null
}

/** Parses a complaint: a feedback report (RFC 5965), or a format from before the standard. Null if the message is no complaint. */
export function parseComplaint(message: ReturnedMessage): ParsedComplaint | null {
  const content = feedbackReportIn(message)
  if (content !== null) return reportComplaint(content, originalMessage(message))
  if (/^true$/i.test(message.field('x-apple-unsubscribe'))) return clientOptOut(message)
  return isOlderForm(message) ? olderComplaint(message) : null
}

/** The part labelled as a feedback report or, if the label was lost, a part with the required fields. */
function feedbackReportIn(message: ReturnedMessage): string | null {
  const isReport = (content: string): boolean =>
    /^feedback[-_ ]?type[ \t]*:/im.test(content) && /^(?:user[-_]?agent|version)[ \t]*:/im.test(content)
  const labelled = message.part(/^(?:message|text)\/(?:x-)?feedback-report$/)?.content
  return labelled ?? message.unlabelled.find(isReport) ?? null
}

/** Without hyphens, because some systems omit or double them. */
const recipientFields = 'originalrcptto originalrcpt originalrecipient originalto rcptto finalrecipient removalrecipient'.split(' ')

function reportComplaint(content: string, original: OriginalMessage): ParsedComplaint {
  const fields = Map.groupBy(fieldsIn(content), ({ name }) => name.replace(/[^a-z]/g, ''))
  const valuesOf = (name: string): string[] => (fields.get(name) ?? []).map(({ value }) => value).filter((value) => value !== '')
  const values = recipientFields.map(valuesOf).find((found) => found.length > 0) ?? []
  const addresses = reportedAddresses(values).filter(isAddress)
  const [type = 'abuse'] = valuesOf('feedbacktype')
  return {
    complaint: {
      feedbackType: /^[a-z0-9-]{1,40}/.exec(type.toLowerCase())?.[0] ?? 'other',
      reportedBy: valuesOf('useragent')[0]?.slice(0, 200) ?? null,
    },
    addresses: addresses.length > 0 ? addresses : recipientsOf(original),
    reversePath: reportedAddress(valuesOf('originalmailfrom')[0] ?? ''),
  }
}

/** The domain of a redacted address may be one that cannot exist (RFC 2606 2). */
const isAddress = (address: string): boolean => !/[@.]invalid$/i.test(address)

/** Microsoft's field, the addressee, or else the mailbox that got the message. */
const mailboxFields = ['x-hmxmroriginalrecipient', 'to', 'x-original-to', 'delivered-to']

/** A message addressed to its own sender was meant for others. */
function recipientsOf({ headers }: OriginalMessage): string[] {
  const addressesOf = (name: string): string[] => reportedAddresses(valuesOf(headers, name))
  const senders = addressesOf('from')
  const named = mailboxFields.map((name) => addressesOf(name).filter((address) => isAddress(address) && !senders.includes(address)))
  return named.find((addresses) => addresses.length > 0) ?? []
}

/** What Apple Mail sends to the List-Unsubscribe address on its user's behalf. */
const clientOptOut = ({ headers }: ReturnedMessage): ParsedComplaint => ({
  complaint: { feedbackType: 'opt-out', reportedBy: null },
  addresses: reportedAddresses(valuesOf(headers, 'from')),
  reversePath: null,
})

const complainers =
  /^(?:fbl|feedback-?loop|scomp|abuse|complaints?|spam-?reports?|no-?reply-?fbl)(?:[+._-][^@]*)?@|^staff@hotmail\.com$|@reports\.spamcop\.net$/i
const complaintSubject =
  /\bcomplaint about message from\b|\b(?:abuse|spam|feedback|fbl|uce) (?:complaint|report|notification)\b|^\[spamcop\b|\bsignalement de spam\b/i

/**
 * True for complaints without a feedback report: Microsoft's, which names the recipient in its own field, and mail from an abuse desk that
 * says so and attaches the message.
 */
function isOlderForm(message: ReturnedMessage): boolean {
  const original = originalMessage(message)
  if (original.headers.some(({ name }) => name === 'x-hmxmroriginalrecipient')) return true
  const brings = message.part(/^message\/rfc822$/) !== undefined || original.headers.length > 2
  const from = reportedAddress(message.field('from')) ?? ''
  const isLoop = complainers.test(from) || /scomp|feedback|fbl/i.test(message.field('x-loop'))
  return brings && isLoop && complaintSubject.test(message.field('subject'))
}

function olderComplaint(message: ReturnedMessage): ParsedComplaint {
  const reportedBy = reportedAddress(message.field('from'))
  return { complaint: { feedbackType: 'abuse', reportedBy }, addresses: recipientsOf(originalMessage(message)), reversePath: null }
}
