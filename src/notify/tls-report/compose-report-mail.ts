import { textPart } from '../../mail/message/compose-parts.ts'
import { encodeTransfer } from '../../mail/message/transfer-encoding.ts'
import type { SystemMail } from '../../mail-in/submission/system-mail.ts'
import { dateOf, dayMs, spanOf } from './tls-report.ts'

export const reportType = 'application/tlsrpt+gzip'

interface ReportMail {
  to: string
  /** The domain that the report is about. */
  domain: string
  /** The domain that sends it. */
  submitter: string
  id: string
  day: number
  /** JSON, compressed. */
  packed: Uint8Array
}

/** The mail that carries a report on TLS (RFC 8460 3, 5.3). */
export function composeReportMail({ to, domain, submitter, id, day, packed }: ReportMail): SystemMail {
  const { beginsAt, endsAt } = spanOf(day)
  const file = `${submitter}!${domain}!${beginsAt / 1000}!${endsAt / 1000}!${id}.json.gz`
  return {
    to,
    subject: `Report Domain: ${domain} Submitter: ${submitter} Report-ID: <${id}>`,
    autoSubmitted: 'auto-generated',
    // RFC 8689 5: what is wrong with TLS must not keep back the report of it.
    headers: { 'TLS-Report-Domain': domain, 'TLS-Report-Submitter': submitter, 'TLS-Required': 'No' },
    multipart: 'report; report-type="tlsrpt"',
    parts: [
      textPart(`This is a report on TLS (RFC 8460) about mail that ${submitter} sent to ${domain} on ${dateOf(day)} (UTC).\r\n`),
      {
        contentType: reportType,
        fields: [`Content-Disposition: attachment;\r\n filename="${file}"`],
        encoding: 'base64',
        bytes: encodeTransfer(Buffer.from(packed), 'base64').bytes,
      },
    ],
    expiresIn: dayMs / 1000,
    transfer: { requireTls: false },
  }
}
