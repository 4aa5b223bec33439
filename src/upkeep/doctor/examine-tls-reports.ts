import { signingDomain } from '../../notify/tls-report/signing-domain.ts'
import { tlsReportSettings } from '../../notify/tls-report/tls-report-settings.ts'
import { sendsTlsReports } from '../../platform/config/sends-tls-reports.ts'
import type { Config } from '../../platform/config/settings.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import { type Finding, sayOf } from './finding.ts'

/** Whether reports on TLS can be sent by mail. Reports only that they cannot. */
export function judgeTlsReports(
  config: Pick<Config, 'mode' | 'hostname' | 'tlsReports' | 'delivery'>,
  domains: Pick<SendingDomains, 'find' | 'senderDomain'>,
): Finding[] {
  const { sender } = tlsReportSettings(config)
  // Nothing is counted of what a smarthost delivers.
  if (!sendsTlsReports(config) || config.delivery.smarthost || signingDomain(sender, domains)) return []
  return [sayOf('domain').warning('tls_reports_unsigned', { sender })]
}
