import { textPart } from '../../mail/message/compose-parts.ts'
import type { SystemMail } from '../../mail-in/submission/system-mail.ts'
import { dayMs } from './tls-report.ts'

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

const secondsPerDay = 24 * 60 * 60
/** What MIME allows in a line of base64, bytes of content. */
const lineBytes = 57

/** The mail that carries a report on TLS (RFC 8460 3, 5.3). */
export function composeReportMail({ to, domain, submitter, id, day, packed }: ReportMail): SystemMail {
  const [beginsAt, endsAt] = [day * dayMs, (day + 1) * dayMs - 1000]
  const date = new Date(beginsAt).toISOString().slice(0, 10)
  const file = `${submitter}!${domain}!${beginsAt / 1000}!${endsAt / 1000}!${id}.json.gz`
  return {
    to,
    subject: `Report Domain: ${domain} Submitter: ${submitter} Report-ID: <${id}>`,
    autoSubmitted: 'auto-generated',
    // RFC 8689 5: what is wrong with TLS must not keep back the report of it.
    headers: { 'TLS-Report-Domain': domain, 'TLS-Report-Submitter': submitter, 'TLS-Required': 'No' },
    multipart: 'report; report-type="tlsrpt"',
    parts: [
      textPart(`This is a report on TLS (RFC 8460) about mail that ${submitter} sent to ${domain} on ${date} (UTC).\r\n`),
      {
        contentType: reportType,
        fields: [`Content-Disposition: attachment;\r\n filename="${file}"`],
        encoding: 'base64',
        bytes: inLines(packed),
      },
    ],
    expiresIn: secondsPerDay,
    transfer: { requireTls: false },
  }
}

function inLines(bytes: Uint8Array): Buffer {
  const lines: string[] = []
  for (let i = 0; i < bytes.length; i += lineBytes) lines.push(Buffer.from(bytes.subarray(i, i + lineBytes)).toString('base64'))
  return Buffer.from(`${lines.join('\r\n')}\r\n`)
}
