/** The mailboxes that receivers are asked to send their reports about domains to. */
export const reportMailboxes = { dmarc: 'dmarc-reports', tls: 'tls-reports' } as const

/**
 * The DMARC record of a domain that has none yet (RFC 7489 6.3). Reports go to its own return path: were they to go
 * elsewhere, that place would have to publish that it takes them (RFC 7489 7.1).
 * @param returnPath null where this server takes no reports
 */
export const firstDmarcRecord = (returnPath: string | null): string =>
  `v=DMARC1; p=none${returnPath === null ? '' : `; rua=mailto:${reportMailboxes.dmarc}@${returnPath}`}`

/** The record by which those who send to a domain report on TLS (RFC 8460 3). */
export const tlsReportRecord = (name: string, returnPath: string): { name: string; type: 'TXT'; value: string } => ({
  name: `_smtp._tls.${name}`,
  type: 'TXT',
  value: `v=TLSRPTv1; rua=mailto:${reportMailboxes.tls}@${returnPath}`,
})
