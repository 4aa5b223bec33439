import { domainOf } from '../smtp/address.ts'
import type { ReportedRecipient } from './feedback-report.ts'

/**
 * Reads the recipients of a report, and again where that shows domains whose host refused several of them in different ways.
 * At RCPT each gets a reply of their own, and what is said after the data is said of all (RFC 5321 3.3), so what such a reply
 * says plainly of an address was said at RCPT.
 * @param read gives the recipients, when it is known which domains did so
 */
export function readAnsweredApart(read: (answeredApart: ReadonlySet<string>) => ReportedRecipient[]): ReportedRecipient[] {
  const recipients = read(new Set())
  const answeredApart = domainsAnsweredApart(recipients)
  return answeredApart.size === 0 ? recipients : read(answeredApart)
}

/** A 4yz shows nothing: who got it waited, and the others went ahead to the data. */
function domainsAnsweredApart(recipients: readonly ReportedRecipient[]): ReadonlySet<string> {
  const refused = recipients.filter(({ address, smtpCode }) => address !== null && smtpCode !== null && smtpCode >= 500)
  const byDomain = Map.groupBy(refused, ({ address }) => domainOf(address ?? '').toLowerCase())
  const apart = [...byDomain].filter(([, own]) => new Set(own.map(({ smtpCode, category }) => `${smtpCode} ${category}`)).size > 1)
  return new Set(apart.map(([domain]) => domain))
}
