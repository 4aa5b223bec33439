import type { Config } from '../../platform/config/settings.ts'

/** How reports name us. */
export function tlsReportSettings({ hostname, tlsReports }: Pick<Config, 'hostname' | 'tlsReports'>) {
  const sender = tlsReports.sender ?? `postmaster@${hostname}`
  return { sender, organization: tlsReports.organization ?? hostname, contact: tlsReports.contact ?? sender }
}
