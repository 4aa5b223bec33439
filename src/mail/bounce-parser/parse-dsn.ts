import { maxRecipients, type DeliveryAction, type ProvenRecipient, type ReportedRecipient } from './feedback.ts'
import { isReport } from './parse-bounce-text.ts'
import { Forwarding } from './forwarding.ts'
import { PhaseText } from './reported-phase.ts'
import { isOfAnother } from './recipient-mentions.ts'
import { reportedRecipient } from './reported-recipient.ts'
import type { ReturnedMessage } from './returned-message.ts'
import { parseStatusFields, statusWithin } from './status-fields.ts'

/** Without a named recipient, the caller may still know whom the bounce is about. */
const toldFields = ['final-recipient', 'original-recipient', 'x-actual-recipient', 'action', 'status']

/**
 * What a delivery status (RFC 3464, RFC 6533) says about each recipient; null if there is no status. In a mail system's report any part may
 * hold it, because systems on the way relabel parts. Elsewhere it is a quotation.
 */
export function parseDsn(message: ReturnedMessage, about: ProvenRecipient | null = null): ReportedRecipient[] | null {
  const isStructured = /^multipart\/report\b/i.test(message.field('content-type'))
  const isOfReport = isStructured || isReport(message, message.text, about)
  const labelled = message.parts.filter(({ contentType }) => /^(?:message|text)\/(?:global-|x-)?delivery-status$/.test(contentType))
  const contents = labelled.length > 0 ? labelled.map(({ content }) => content) : statusesWithin(message)
  // Without a bounce address, the token in the returned message is the evidence.
  if (contents.length === 0 || !(isOfReport || (labelled.length > 0 && about === null))) return null
  const text = new PhaseText(message.text)
  const { rules } = message.vocabulary
  const told = contents.flatMap(parseStatusFields).filter((fields) => toldFields.some((name) => fields.has(name)))
  const forwarding = new Forwarding(message)
  const recipients = told.slice(0, maxRecipients).map((fields) => {
    const recipient = reportedRecipient(fields, text, rules)
    return { ...recipient, forwardedTo: forwarding.of(recipient.address, fields.get('x-actual-recipient')?.[0]) }
  })
  const isOther = isOfAnother(new Set(recipients.map(({ address }) => (address ?? '').toLowerCase())))
  return once(recipients.map((each) => (isOther(each.reason, each.address ?? '') ? { ...each, hard: false, inWords: undefined } : each)))
}

const statusesWithin = (message: ReturnedMessage): string[] => message.unlabelled.map(statusWithin).filter((content) => content !== null)

/** One entry per address. If an address occurs more than once, a final failure wins. */
function once(recipients: ReportedRecipient[]): ReportedRecipient[] {
  const byAddress = new Map<string, ReportedRecipient>()
  for (const recipient of recipients) {
    const key = recipient.address?.toLowerCase() ?? ''
    const known = byAddress.get(key)
    if (!known || weightOf(recipient) > weightOf(known)) byAddress.set(key, recipient)
  }
  return [...byAddress.values()]
}

const weights: Record<DeliveryAction, number> = { delivered: 0, relayed: 0, expanded: 0, delayed: 1, failed: 2 }
const weightOf = ({ action, hard }: ReportedRecipient): number => weights[action] * 2 + Number(hard)
