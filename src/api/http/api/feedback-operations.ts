import { SternaError } from '../../../platform/errors.ts'
import { returnPathPurposes, type ReturnedMailStore } from '../../../mail-back/feedback/returned-mail-store.ts'
import type { ReturnedMailList, ReturnedMailListRow } from '../../../mail-back/feedback/returned-mail-list.ts'
import { returnedMailResults } from '../../../mail-back/feedback/returned-mail-result.ts'
import type { CallTo } from '../../operation/call.ts'
import { visibleAccount } from '../../operation/caller.ts'
import { listOperation } from '../../operation/list-operation.ts'
import { downloadOfStranger } from '../../operation/raw-answer.ts'
import { operation, type Operation } from '../../operation/operation.ts'
import { choiceParameter, textParameter } from '../../operation/query.ts'
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
    rows: async ({ caller, query }, page) => {
      const { purpose, result, email_id: messageId } = query
      const rows = await services.returnedMailList.page({ accountId: visibleAccount(caller), purpose, result, messageId }, page)
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
    handle: async (call) => feedbackReportDetail.answer(await findReport(call, services)),
  }),
  operation({
    id: 'feedback.download',
    method: 'GET',
    path: '/api/feedback/{id}/content',
    tag: 'Feedback',
    summary: 'Download returned mail in its original form',
    permission: 'operator',
    answers: [{ status: 200, description: 'The message, as a download.', schema: null, mediaType: 'message/rfc822' }],
    handle: async (call) => {
      const { id } = await findReport(call, services)
      const content = await services.returnedMail.content(id)
      if (!content) throw new SternaError('not_found', 'The content of this report is no longer kept.')
      return downloadOfStranger(call.reply, Buffer.from(content), { type: 'message/rfc822', filename: `${id}.eml` })
    },
  }),
]

async function findReport(call: CallTo<'id'>, { returnedMailList }: FeedbackOperationServices): Promise<ReturnedMailListRow> {
  const row = await returnedMailList.find(call.params.id, visibleAccount(call.caller))
  if (row) return row
  throw new SternaError('not_found', 'There is no such report.')
}
