import type { ReportedRecipient } from './feedback-report.ts'
import { addressesIn } from './recipient-mentions.ts'

/**
 * Tells of a text whether it names others of these recipients and not this one. Many may stand in the same text, so each is
 * searched once.
 * @param recipients in lower case
 */
export function namesAnother(recipients: ReadonlySet<string>): (text: string, address: string) => boolean {
  const known = new Map<string, ReadonlySet<string>>()
  return (text, address) => {
    const named = known.get(text) ?? new Set(addressesIn(text).map((each) => each.toLowerCase()).filter((each) => recipients.has(each)))
    known.set(text, named)
    return named.size > 0 && !named.has(address.toLowerCase())
  }
}

/** The recipients, those as soft whose reason is a reply that names another of them: some systems fail all for one. */
export function softForOthers(recipients: readonly ReportedRecipient[]): ReportedRecipient[] {
  const isOfAnother = namesAnother(new Set(recipients.map(({ address }) => address?.toLowerCase() ?? '')))
  return recipients.map((recipient) =>
    recipient.hard && isOfAnother(recipient.reason, recipient.address ?? '') ? { ...recipient, hard: false } : recipient,
  )
}
