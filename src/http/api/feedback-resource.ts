import { z } from 'zod'
import { feedbackClasses, type Feedback } from '../../bounce-parser/feedback.ts'
import { returnPathPurposes } from '../../feedback/returned-mail-store.ts'
import type { ReturnedMailListRow } from '../../feedback/returned-mail-list.ts'
import { returnedMailResults } from '../../feedback/returned-mail-result.ts'
import { flag, resource, time, timeOrNull } from '../resource.ts'

/** A report as the API lists it. */
export const feedbackReport = resource<ReturnedMailListRow>('FeedbackReport')({
  object: 'feedback_report',
  id: z.string(),
  received_at: time(),
  purpose: z.enum(returnPathPurposes).describe('What the address is for that it came to.'),
  address: [z.string().describe('That it came to.'), 'forward_path'],
  result: z
    .enum(returnedMailResults)
    .nullable()
    .describe('What came of it; only `bounced`, `complained` and `unsubscribed` change anything. Null while it waits.'),
  settled_at: timeOrNull(),
  account_id: z.string().nullable(),
  email_id: [z.string().nullable().describe('The email that it proves to be about.'), 'message_id'],
  to: [z.string().nullable().describe('The recipient that it proves to be about.'), 'recipient'],
  reverse_path: z.string().nullable().describe('As its sender gave it; null for none, as reports have it.'),
  remote_address: z.string().describe('The host that handed it over.'),
  ehlo_name: z.string().describe('What that host calls itself.'),
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
  message_id: [z.string().nullable().describe('The Message-ID of the message it is about.'), ({ original }) => original.messageId],
})

/** A report with what it says, as the API and the command line show it. */
export const feedbackReportDetail = resource<ReturnedMailListRow>('FeedbackReportDetail')({
  ...feedbackReport.fields,
  reading: [
    feedbackReading.schema
      .nullable()
      .describe('What it says, whether or not it is believed; null where it was not read as a report on one email.'),
    (row) => readingIn(summaryOf(row)),
  ],
  heading: [
    z
      .object({ from: z.string(), subject: z.string() })
      .nullable()
      .describe('Of mail for postmaster and abuse, as the mail has it; null for everything else.'),
    (row) => headingIn(summaryOf(row)),
  ],
  fault: [z.string().nullable().describe('Why it could not be read.'), (row) => faultIn(summaryOf(row))],
})

/** Reports for other purposes have summaries of other shapes. */
const summaryOf = ({ summary }: ReturnedMailListRow): Record<string, unknown> =>
  summary === null ? {} : ((JSON.parse(summary) as Record<string, unknown> | null) ?? {})

const readingIn = (summary: Record<string, unknown>) => ('class' in summary ? feedbackReading.answer(summary as unknown as Feedback) : null)

/** Of mail that is for people. */
const headingIn = (summary: Record<string, unknown>): { from: string; subject: string } | null =>
  'from' in summary && 'subject' in summary ? { from: String(summary.from), subject: String(summary.subject) } : null

const faultIn = ({ fault }: Record<string, unknown>): string | null => (typeof fault === 'string' ? fault : null)
