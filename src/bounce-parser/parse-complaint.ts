import type { Complaint } from './feedback.ts'
import { fieldsIn } from './fields.ts'
import { originalMessage, type OriginalMessage } from './original-message.ts'
import { reportedAddress, reportedAddresses } from './reported-address.ts'
import { valuesOf, type ReturnedMessage } from './returned-message.ts'

/** What a complaint says, as far as it says it. */
interface ParsedComplaint {
  complaint: Complaint
  /** As the report has them: a redacted address is one too. */
  addresses: string[]
  /** Of the message complained of, as the report has it beside its header. */
  reversePath: string | null
}

/**
 * Reads a complaint: a feedback report (RFC 5965), or one of the forms that providers sent before there was a standard.
 * Null where the message is none.
 */
export function parseComplaint(message: ReturnedMessage): ParsedComplaint | null {
  const content = feedbackReportIn(message)
  if (content !== null) return reportComplaint(content, originalMessage(message))
  if (/^true$/i.test(message.field('x-apple-unsubscribe'))) return clientOptOut(message)
  return isOlderForm(message) ? olderComplaint(message) : null
}

/** The part that is labelled so, or, where the label was lost, one that has its required fields. */
function feedbackReportIn(message: ReturnedMessage): string | null {
  const isReport = (content: string): boolean =>
    /^feedback[-_ ]?type[ \t]*:/im.test(content) && /^(?:user[-_]?agent|version)[ \t]*:/im.test(content)
  const labelled = message.part(/^(?:message|text)\/(?:x-)?feedback-report$/)?.content
  return labelled ?? message.unlabelled.find(isReport) ?? null
}

/** Without the hyphens, which some systems leave out or double. */
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

/** What stands in place of a redacted address may have a domain that none can have (RFC 2606 2). */
const isAddress = (address: string): boolean => !/[@.]invalid$/i.test(address)

/** Microsoft's field, whom the message was addressed to, and where that is not told, the mailbox it was delivered to. */
const mailboxFields = ['x-hmxmroriginalrecipient', 'to', 'x-original-to', 'delivered-to']

/** What was addressed to its own sender was for others. */
function recipientsOf({ headers }: OriginalMessage): string[] {
  const addressesOf = (name: string): string[] => reportedAddresses(valuesOf(headers, name))
  const senders = addressesOf('from')
  const named = mailboxFields.map((name) => addressesOf(name).filter((address) => isAddress(address) && !senders.includes(address)))
  return named.find((addresses) => addresses.length > 0) ?? []
}

/** Apple Mail writes so for its user, to the mailbox of List-Unsubscribe. */
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
 * True for complaints without a feedback report: Microsoft's, which names the recipient in a field of its own, and mail
 * of an abuse desk that says so and brings the message along.
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
