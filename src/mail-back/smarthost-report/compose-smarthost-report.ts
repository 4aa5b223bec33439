import { traceFieldOf } from '../../mail/message/added-field.ts'
import { softField } from '../../mail/bounce-parser/status-fields.ts'
import { reportServiceNames, type ReportService } from '../../platform/config/report-services.ts'
import type { DeliveryFate, SmarthostReport } from './smarthost-report.ts'

/** characters of a value; no more is shown anywhere */
const maxLength = 1000

/**
 * A service's report as returned mail, so that the one parser reads it and the same follows: a delivery status (RFC 3464) or a feedback
 * report (RFC 5965), with the reference in the header of the message that it is about.
 */
export function composeSmarthostReport(service: ReportService, { reference, address, said }: SmarthostReport): Buffer {
  const type = 'action' in said ? 'delivery-status' : 'feedback-report'
  const name = reportServiceNames[service]
  const fields = 'action' in said ? statusFields(service, address, said) : complaintFields(name, address, said.feedbackType)
  return Buffer.from(
    [
      `From: ${name} <MAILER-DAEMON@${service}.invalid>`,
      `Subject: Report of ${name}`,
      'MIME-Version: 1.0',
      `Content-Type: multipart/report; report-type=${type}; boundary="report"`,
      '',
      '--report',
      'Content-Type: text/plain; charset=us-ascii',
      '',
      `A report of ${name}.`,
      '',
      '--report',
      `Content-Type: message/${type}`,
      '',
      ...fields,
      '',
      '--report',
      'Content-Type: text/rfc822-headers',
      '',
      traceFieldOf(line(reference)),
      '--report--',
      '',
    ].join('\r\n'),
  )
}

function statusFields(service: ReportService, address: string, { action, status, reply, words, isSoft }: DeliveryFate): string[] {
  return [
    `Reporting-MTA: dns; ${service}.invalid`,
    '',
    `Final-Recipient: rfc822; ${line(address)}`,
    `Action: ${action}`,
    ...(status === null ? [] : [`Status: ${status}`]),
    ...(isSoft ? [`${softField}: yes`] : []),
    // The service's own words are no reply.
    ...(reply === null
      ? [`Diagnostic-Code: x-${service}; ${line(words ?? 'no reason was given')}`]
      : [`Diagnostic-Code: smtp; ${line(reply)}`]),
  ]
}

const complaintFields = (name: string, address: string, feedbackType: string): string[] => [
  `Feedback-Type: ${feedbackType}`,
  `User-Agent: ${name}`,
  'Version: 1',
  `Original-Rcpt-To: ${line(address)}`,
]

/** Makes one line of whatever a service wrote. */
const line = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, maxLength)
