import { domainOf } from '../smtp/address.ts'
import type { ReportedRecipient } from './feedback-report.ts'
import { addressesIn } from './recipient-mentions.ts'

/**
 * The domains whose host refused the recipients of one report in different ways. At RCPT each gets a reply of their own, and
 * what is said after the data is said of all (RFC 5321 3.3), so what such a reply says plainly of an address was said at
 * RCPT. A 4yz shows nothing: who got it waited, and the others went ahead to the data.
 */
export function domainsAnsweredApart(recipients: readonly ReportedRecipient[]): ReadonlySet<string> {
  const quoted = recipients.filter(({ address, smtpCode }) => address !== null && smtpCode !== null && smtpCode >= 500)
  const byDomain = Map.groupBy(quoted, ({ address }) => domainOf(address ?? '').toLowerCase())
  const apart = [...byDomain].filter(([, own]) => new Set(own.map(({ smtpCode, category }) => `${smtpCode} ${category}`)).size > 1)
  return new Set(apart.map(([domain]) => domain))
}

/** The recipients, those as soft whose reason is a reply that names another of them: some systems fail all for one. */
export function softForOthers(recipients: readonly ReportedRecipient[]): ReportedRecipient[] {
  if (recipients.length < 2) return [...recipients]
  const all = new Set(recipients.map(({ address }) => address?.toLowerCase()))
  return recipients.map((recipient) => {
    const named = recipient.hard ? addressesIn(recipient.reason).map((address) => address.toLowerCase()) : []
    const isOfAnother = !named.includes(recipient.address?.toLowerCase() ?? '') && named.some((address) => all.has(address))
    return isOfAnother ? { ...recipient, hard: false } : recipient
  })
}
