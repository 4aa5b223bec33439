import { isBounceNotice } from './bounce-notice.ts'
import { mostRecipients, type DeliveryAction, type ReportedRecipient } from './feedback.ts'
import { PhaseText } from './reported-phase.ts'
import { isOfAnother } from './recipient-mentions.ts'
import { reportedRecipient } from './reported-recipient.ts'
import type { ReturnedMessage } from './returned-message.ts'
import { parseStatusFields, statusWithin, type StatusFields } from './status-fields.ts'

/**
 * What a delivery status (RFC 3464, RFC 6533) says of its recipients, each of them once; null where the message has none.
 * In the report of a mail system it is looked for in every part, since systems on the way relabel it; elsewhere somebody
 * quotes one.
 */
export function parseDsn(message: ReturnedMessage): ReportedRecipient[] | null {
  const labelled = message.parts.filter(({ contentType }) => /^(?:message|text)\/(?:global-|x-)?delivery-status$/.test(contentType))
  const contents = labelled.length > 0 ? labelled.map(({ content }) => content) : statusesWithin(message)
  if (contents.length === 0) return null
  const text = new PhaseText(message.text)
  const told = contents.flatMap(recipientsOf).slice(0, mostRecipients)
  const recipients = told.map(({ fields, common }) => reportedRecipient(fields, common, { text, rules: message.vocabulary.rules }))
  const isOther = isOfAnother(new Set(recipients.map(({ address }) => (address ?? '').toLowerCase())))
  return once(recipients.map((each) => (isOther(each.reason, each.address ?? '') ? { ...each, hard: false, inWords: undefined } : each)))
}

function statusesWithin(message: ReturnedMessage): string[] {
  const isReport = /^multipart\/report\b/i.test(message.field('content-type')) || isBounceNotice(message, message.text)
  if (!isReport) return []
  return message.unlabelled.map(statusWithin).filter((content) => content !== null)
}

/** The fields of one recipient, and those that concern all of its status. */
interface RecipientFields {
  fields: StatusFields
  common: StatusFields
}

/** The recipients of one status. */
function recipientsOf(content: string): RecipientFields[] {
  const { message: common, recipients } = parseStatusFields(content)
  if (recipients.length > 0) return recipients.map((fields) => ({ fields, common }))
  // Nobody is named, yet what the report is about may be known from elsewhere.
  return common.has('action') || common.has('status') ? [{ fields: common, common }] : []
}

/** One entry for each address: a final failure is what counts, however the same address is told of elsewhere. */
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
