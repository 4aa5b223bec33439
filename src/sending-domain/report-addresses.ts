/** The mailboxes that receivers are asked to send their reports about domains to, at the domain of the return path. */
export const reportMailboxes = { dmarc: 'dmarc-reports', tls: 'tls-reports' } as const

/**
 * The DMARC record of a domain that has none yet (RFC 7489 6.3).
 * @param reportDomain where this server takes reports; null where it takes none
 */
export const firstDmarcRecord = (reportDomain: string | null): string =>
  `v=DMARC1; p=none${reportDomain === null ? '' : `; rua=mailto:${reportMailboxes.dmarc}@${reportDomain}`}`

/** The record by which those who send to a domain report on TLS (RFC 8460 3); null where this server takes no reports. */
export const tlsReportRecord = (name: string, reportDomain: string | null): { name: string; type: 'TXT'; value: string } | null =>
  reportDomain === null ? null : { name: `_smtp._tls.${name}`, type: 'TXT', value: `v=TLSRPTv1; rua=mailto:${reportMailboxes.tls}@${reportDomain}` }
