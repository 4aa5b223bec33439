import type { Config } from '../../platform/config/settings.ts'

/** Whether this server counts TLS sessions and reports on them. */
export const sendsTlsReports = ({ mode, tlsReports }: Pick<Config, 'mode' | 'tlsReports'>): boolean => mode === 'live' && tlsReports.enabled

/** How reports name us. */
export function tlsReportSettings({ hostname, tlsReports }: Pick<Config, 'hostname' | 'tlsReports'>) {
  const sender = tlsReports.sender ?? `postmaster@${hostname}`
  return { sender, organization: tlsReports.organization ?? hostname, contact: tlsReports.contact ?? sender }
}
