import { z } from 'zod'
import { SternaError } from '../../errors.ts'
import { feedbackClasses } from '../../feedback/feedback-report.ts'
import { reportPurposes, type IncomingReports } from '../../feedback/incoming-reports.ts'
import type { ReportList, ReportListRow } from '../../feedback/report-list.ts'
import { reportDetailObject, reportObject } from '../../feedback/report-object.ts'
import { reportResults } from '../../feedback/report-result.ts'
import { type ApiContext, visibleAccount } from '../api-state.ts'
import { listOperation } from '../list-operation.ts'
import { operation, type Operation } from '../operation.ts'
import { choiceParameter, textParameter } from '../query.ts'
import { timeAnswer } from '../time-field.ts'

export interface FeedbackOperationParts {
  reportList: ReportList
  reports: Pick<IncomingReports, 'content'>
}

const reportAnswer = z
  .object({
    object: z.literal('feedback_report'),
    id: z.string(),
    received_at: timeAnswer,
    purpose: z.enum(reportPurposes).describe('What the address is for that it came to.'),
    address: z.string().describe('That it came to.'),
    result: z
      .enum(reportResults)
      .nullable()
      .describe('What came of it; only `bounced`, `complained` and `unsubscribed` change anything. Null while it waits.'),
    settled_at: timeAnswer.nullable(),
    account_id: z.string().nullable(),
    email_id: z.string().nullable().describe('The email that it proves to be about.'),
    to: z.string().nullable().describe('The recipient that it proves to be about.'),
    reverse_path: z.string().nullable().describe('As its sender gave it; null for none, as reports have it.'),
    remote_address: z.string().describe('The host that handed it over.'),
    ehlo_name: z.string().describe('What that host calls itself.'),
    tls: z.boolean(),
    size: z.int().describe('Bytes.'),
  })
  .meta({ id: 'FeedbackReport' })

const readingAnswer = z
  .object({
    class: z.enum(feedbackClasses),
    subject: z.string(),
    recipients: z.array(
      z.object({
        address: z.string().nullable(),
        action: z.enum(['failed', 'delayed', 'delivered', 'relayed', 'expanded']),
        hard: z.boolean(),
        category: z.string(),
        status: z.string().nullable(),
        smtp_code: z.int().nullable(),
        reason: z.string(),
      }),
    ),
    feedback_type: z.string().nullable(),
    reported_by: z.string().nullable(),
    message_id: z.string().nullable().describe('The Message-ID of the message it is about.'),
  })
  .meta({ id: 'FeedbackReading' })

const detailAnswer = reportAnswer
  .extend({
    reading: readingAnswer
      .nullable()
      .describe('What it says, whether or not it is believed; null where it was not read as a report on one email.'),
    heading: z
      .object({ from: z.string(), subject: z.string() })
      .nullable()
      .describe('Of mail for postmaster and abuse, as the mail has it; null for everything else.'),
    fault: z.string().nullable().describe('Why it could not be read.'),
  })
  .meta({ id: 'FeedbackReportDetail' })

/** `/api/feedback`: what came back by mail, and what came of it. */
export const feedbackOperations = (parts: FeedbackOperationParts): Operation[] => [
  listOperation({
    id: 'feedback.list',
    path: '/api/feedback',
    tag: 'Feedback',
    summary: 'List what came back by mail',
    description:
      'Bounces, complaints and other reports. With the permission `operator` all of them, else those that are about email of the account.',
    permission: 'read_access',
    query: {
      purpose: choiceParameter(reportPurposes),
      result: choiceParameter(reportResults),
      email_id: textParameter.meta({ description: 'Only what is about this email.' }),
    },
    of: { schema: reportAnswer, answer: reportObject },
    answer: 'A page, newest first.',
    rows: async (ctx, page, query) => {
      const { purpose, result, email_id: messageId } = query
      const rows = await parts.reportList.page({ accountId: visibleAccount(ctx), purpose, result, messageId }, page)
      return rows
    },
  }),
  operation({
    id: 'feedback.get',
    method: 'GET',
    path: '/api/feedback/{id}',
    tag: 'Feedback',
    summary: 'Read what came back by mail, and what it says',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The report.', schema: detailAnswer }],
    handle: async (ctx) => reportDetailObject(await findReport(ctx, parts)),
  }),
  operation({
    id: 'feedback.content',
    method: 'GET',
    path: '/api/feedback/{id}/content',
    tag: 'Feedback',
    summary: 'Download what came back by mail, as it came',
    permission: 'operator',
    answers: [
      { status: 200, description: 'The message, as a file to be kept and not to be shown.', schema: null, mediaType: 'message/rfc822' },
    ],
    handle: async (ctx) => {
      const { id } = await findReport(ctx, parts)
      const content = await parts.reports.content(id)
      if (!content) throw new SternaError('not_found', 'The content of this report is no longer kept.')
      ctx.set({
        'Content-Type': 'message/rfc822',
        'Content-Disposition': `attachment; filename="${id}.eml"`,
        'X-Content-Type-Options': 'nosniff',
        'Content-Security-Policy': "default-src 'none'; sandbox",
      })
      return Buffer.from(content)
    },
  }),
]

async function findReport(ctx: ApiContext, { reportList }: FeedbackOperationParts): Promise<ReportListRow> {
  const row = await reportList.find(ctx.params['id'] ?? '', visibleAccount(ctx))
  if (row) return row
  throw new SternaError('not_found', 'There is no such report.')
}
