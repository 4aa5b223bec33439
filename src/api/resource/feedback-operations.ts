import { SternaError } from '../../platform/errors.ts'
import type { ReturnedMailListRow } from '../../mail-back/feedback/returned-mail-list.ts'
import { returnedMailResults, returnPathPurposes } from '../../platform/metrics/returned-mail-labels.ts'
import type { CallTo } from '../operation/call.ts'
import { visibleAccount } from '../operation/caller.ts'
import { downloadOfStranger } from '../operation/raw-answer.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { choiceParameter, textParameter } from '../operation/query.ts'
import { feedbackReport, feedbackReportDetail } from './feedback-resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'returnedMailList' | 'returnedMail'>

const at = operationsAt({ path: '/api/feedback', tag: 'Feedback', permission: 'read_access' })

/** `/api/feedback`: returned mail, and what followed from it. */
export const feedbackOperations = (services: Services): Operation[] => [
  at.list('feedback.list', '', 'List returned mail', {
    description:
      'Bounces, complaints and other returned mail: with the permission `operator` all of it, else what is about email of the account.',
    query: {
      purpose: choiceParameter(returnPathPurposes),
      result: choiceParameter(returnedMailResults),
      email_id: textParameter.meta({ description: 'Only what is about this email.' }),
    },
    answer: ['A page, newest first.', feedbackReport],
    rows: async ({ caller, query }, page) => {
      const { purpose, result, email_id: messageId } = query
      const rows = await services.returnedMailList.page({ accountId: visibleAccount(caller), purpose, result, messageId }, page)
      return rows
    },
  }),
  at.get('feedback.get', '/{id}', 'Read returned mail, and what it says', {
    answer: ['The returned message.', feedbackReportDetail.schema],
    handle: async (call) => feedbackReportDetail.answer(await findReport(call, services)),
  }),
  at.get('feedback.download', '/{id}/content', 'Download returned mail in its original form', {
    permission: 'operator',
    answer: ['The message, as a download.', 'message/rfc822'],
    handle: async (call) => {
      const { id } = await findReport(call, services)
      const content = await services.returnedMail.content(id)
      if (!content) throw new SternaError('not_found', 'The content of this report is no longer kept.')
      return downloadOfStranger(call.reply, Buffer.from(content), { type: 'message/rfc822', filename: `${id}.eml` })
    },
  }),
]

async function findReport(call: CallTo<'id'>, { returnedMailList }: Services): Promise<ReturnedMailListRow> {
  const row = await returnedMailList.find(call.params.id, visibleAccount(call.caller))
  if (row) return row
  throw new SternaError('not_found', 'There is no such report.')
}
