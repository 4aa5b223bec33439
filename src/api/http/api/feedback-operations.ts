import { SternaError } from '../../../platform/errors.ts'
import { returnPathPurposes, type ReturnedMailStore } from '../../../mail-back/feedback/returned-mail-store.ts'
import type { ReturnedMailList, ReturnedMailListRow } from '../../../mail-back/feedback/returned-mail-list.ts'
import { returnedMailResults } from '../../../mail-back/feedback/returned-mail-result.ts'
import { type ApiContext, visibleAccount } from '../api-state.ts'
import { listOperation } from '../list-operation.ts'
import { operation, type Operation } from '../operation.ts'
import { choiceParameter, textParameter } from '../query.ts'
import { feedbackReport, feedbackReportDetail } from './feedback-resource.ts'

export interface FeedbackOperationServices {
  returnedMailList: ReturnedMailList
  returnedMail: Pick<ReturnedMailStore, 'content'>
}

/** `/api/feedback`: returned mail, and what followed from it. */
export const feedbackOperations = (services: FeedbackOperationServices): Operation[] => [
  listOperation({
    id: 'feedback.list',
    path: '/api/feedback',
    tag: 'Feedback',
    summary: 'List returned mail',
    description:
      'Bounces, complaints and other returned mail: with the permission `operator` all of it, else what is about email of the account.',
    permission: 'read_access',
    query: {
      purpose: choiceParameter(returnPathPurposes),
      result: choiceParameter(returnedMailResults),
      email_id: textParameter.meta({ description: 'Only what is about this email.' }),
    },
    of: feedbackReport,
    answer: 'A page, newest first.',
    rows: async (ctx, page, query) => {
      const { purpose, result, email_id: messageId } = query
      const rows = await services.returnedMailList.page({ accountId: visibleAccount(ctx), purpose, result, messageId }, page)
      return rows
    },
  }),
  operation({
    id: 'feedback.get',
    method: 'GET',
    path: '/api/feedback/{id}',
    tag: 'Feedback',
    summary: 'Read returned mail, and what it says',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The returned message.', schema: feedbackReportDetail.schema }],
    handle: async (ctx) => feedbackReportDetail.answer(await findReport(ctx, services)),
  }),
  operation({
    id: 'feedback.download',
    method: 'GET',
    path: '/api/feedback/{id}/content',
    tag: 'Feedback',
    summary: 'Download returned mail in its original form',
    permission: 'operator',
    answers: [{ status: 200, description: 'The message, as a download.', schema: null, mediaType: 'message/rfc822' }],
    handle: async (ctx) => {
      const { id } = await findReport(ctx, services)
      const content = await services.returnedMail.content(id)
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

async function findReport(ctx: ApiContext, { returnedMailList }: FeedbackOperationServices): Promise<ReturnedMailListRow> {
  const row = await returnedMailList.find(ctx.params['id'] ?? '', visibleAccount(ctx))
  if (row) return row
  throw new SternaError('not_found', 'There is no such report.')
}
