import { z } from 'zod'
import { feedbackClasses, type Feedback } from '../../mail/bounce-parser/feedback.ts'
import type { ReturnedMailListRow } from '../../mail-back/feedback/returned-mail-list.ts'
import { returnedMailResults, returnPathPurposes } from '../../platform/metrics/returned-mail-labels.ts'
import { flag, resource, time, timeOrNull } from '../operation/resource.ts'

/** Returned mail as the API lists it. */
export const feedbackReport = resource<ReturnedMailListRow>('FeedbackReport')({
  object: 'feedback_report',
  id: z.string(),
  received_at: time(),
  purpose: z.enum(returnPathPurposes).describe('What the address that it came to is for.'),
  address: [z.string().describe('The address that it came to; for a report of the smarthost, the path.'), 'forward_path'],
  result: z
    .enum(returnedMailResults)
    .nullable()
    .describe(
      'What followed from it. Only `bounced`, `complained`, `unsubscribed` and, from a smarthost, `delivered` change anything. Null ' +
        'while it waits.',
    ),
  settled_at: timeOrNull(),
  account_id: z.string().nullable(),
  email_id: [z.string().nullable().describe('The email that it is proved to be about.'), 'message_id'],
  to: [z.string().nullable().describe('The recipient that it is proved to be about.'), 'recipient'],
  reverse_path: z.string().nullable().describe('The MAIL FROM address; null for the null reverse-path, which bounces have.'),
  remote_address: z.string().describe('The host that delivered it.'),
  ehlo_name: z.string().describe('The name that this host gave in EHLO.'),
  tls: flag(),
  size: z.int().describe('Bytes.'),
})

const reportedRecipient = resource<Feedback['recipients'][number]>(null)({
  address: z.string().nullable(),
  action: z.enum(['failed', 'delayed', 'delivered', 'relayed', 'expanded']),
  hard: z.boolean(),
  category: z.string(),
  status: z.string().nullable(),
  smtp_code: z.int().nullable(),
  reason: z.string(),
})

const feedbackReading = resource<Feedback>('FeedbackReading')({
  class: z.enum(feedbackClasses),
  subject: z.string(),
  recipients: [z.array(reportedRecipient.schema), ({ recipients }) => recipients.map(reportedRecipient.answer)],
  feedback_type: [z.string().nullable(), ({ complaint }) => complaint?.feedbackType ?? null],
  reported_by: [z.string().nullable(), ({ complaint }) => complaint?.reportedBy ?? null],
  message_id: [z.string().nullable().describe('The Message-ID of the message that it is about.'), ({ original }) => original.messageId],
})

/** Returned mail with its content, as the API and the command line show it. */
export const feedbackReportDetail = resource<ReturnedMailListRow>('FeedbackReportDetail')({
  ...feedbackReport.fields,
  reading: [
    feedbackReading.schema
      .nullable()
      .describe('What it says, whether or not it is believed; null if it was not parsed as feedback on one email.'),
    (row) => readingIn(summaryOf(row)),
  ],
  heading: [
    z
      .object({ from: z.string(), subject: z.string() })
      .nullable()
      .describe('For mail to postmaster and abuse, as the mail has it; otherwise null.'),
    (row) => headingIn(summaryOf(row)),
  ],
  fault: [z.string().nullable().describe('Why it could not be parsed.'), (row) => faultIn(summaryOf(row))],
})

/** Returned mail for other purposes has summaries of other shapes. */
const summaryOf = ({ summary }: ReturnedMailListRow): Record<string, unknown> =>
  summary === null ? {} : ((JSON.parse(summary) as Record<string, unknown> | null) ?? {})

const readingIn = (summary: Record<string, unknown>) => ('class' in summary ? feedbackReading.answer(summary as unknown as Feedback) : null)

/** For mail that people should read. */
const headingIn = (summary: Record<string, unknown>): { from: string; subject: string } | null =>
  'from' in summary && 'subject' in summary ? { from: String(summary.from), subject: String(summary.subject) } : null

const faultIn = ({ fault }: Record<string, unknown>): string | null => (typeof fault === 'string' ? fault : null)
