/** The mailboxes to which receivers are asked to send their reports on domains. */
export const reportMailboxes = { dmarc: 'dmarc-reports', tls: 'tls-reports' } as const

/**
 * The DMARC record for a domain that has none yet (RFC 7489 6.3). Reports go to its own return path: any other place would have to publish
 * its consent (RFC 7489 7.1).
 * @param returnPath null if this server accepts no reports
 */
export const firstDmarcRecord = (returnPath: string | null): string =>
  `v=DMARC1; p=none${returnPath === null ? '' : `; rua=mailto:${reportMailboxes.dmarc}@${returnPath}`}`

/** The record that asks senders to a domain to report on TLS (RFC 8460 3). */
export const tlsReportRecord = (name: string, returnPath: string): { name: string; type: 'TXT'; value: string } => ({
  name: `_smtp._tls.${name}`,
  type: 'TXT',
  value: `v=TLSRPTv1; rua=mailto:${reportMailboxes.tls}@${returnPath}`,
})
