import { isoTime, isoTimeOrNull } from '../iso-time.ts'
import type { Feedback } from '../bounce-parser/feedback.ts'
import type { ReportListRow } from './report-list.ts'

/** A report as the API lists it. */
export const reportObject = (row: ReportListRow) => ({
  object: 'feedback_report' as const,
  id: row.id,
  received_at: isoTime(row.received_at),
  purpose: row.purpose,
  address: row.forward_path,
  result: row.result,
  settled_at: isoTimeOrNull(row.settled_at),
  account_id: row.account_id,
  email_id: row.message_id,
  to: row.recipient,
  reverse_path: row.reverse_path,
  remote_address: row.remote_address,
  ehlo_name: row.ehlo_name,
  tls: row.tls === 1,
  size: row.size,
})

/** A report with what it says, as the API and the command line show it. */
export function reportDetailObject(row: ReportListRow) {
  const summary: unknown = row.summary === null ? null : JSON.parse(row.summary)
  return {
    ...reportObject(row),
    reading: isReading(summary) ? readingObject(summary) : null,
    heading: headingIn(summary),
    fault: faultIn(summary),
  }
}

/** Reports for other purposes have summaries of other shapes. */
const isReading = (summary: unknown): summary is Feedback => typeof summary === 'object' && summary !== null && 'class' in summary

/** Of mail that is for people. */
const headingIn = (summary: unknown): { from: string; subject: string } | null =>
  typeof summary === 'object' && summary !== null && 'from' in summary && 'subject' in summary
    ? { from: String(summary.from), subject: String(summary.subject) }
    : null

const faultIn = (summary: unknown): string | null =>
  typeof summary === 'object' && summary !== null && 'fault' in summary && typeof summary.fault === 'string' ? summary.fault : null

const readingObject = ({ class: kind, subject, recipients, complaint, original }: Feedback) => ({
  class: kind,
  subject,
  recipients: recipients.map(({ address, action, hard, category, status, smtpCode, reason }) => ({
    address,
    action,
    hard,
    category,
    status,
    smtp_code: smtpCode,
    reason,
  })),
  feedback_type: complaint?.feedbackType ?? null,
  reported_by: complaint?.reportedBy ?? null,
  message_id: original.messageId,
})
