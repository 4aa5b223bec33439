import { SternaError } from '../../platform/errors.ts'
import { ReturnedMailList } from '../../mail-back/feedback/returned-mail-list.ts'
import { returnedMailResults } from '../../mail-back/feedback/returned-mail-result.ts'
import { feedbackReport, feedbackReportDetail } from '../../api/http/api/feedback-resource.ts'
import { argument, listObject, printable, shownTime, table, textOption, type Command } from './command.ts'

const everybodys = null
/** One list's options. */
const mostRows = 100

export const reportCommands: Command[] = [
  {
    name: 'feedback list',
    reads: true,
    args: [],
    options: { result: { type: 'string', value: 'RESULT', doc: 'Only those with this result.', choices: returnedMailResults } },
    doc: 'Lists the newest hundred returned messages: the address each came to, its result, and the email and recipient it is about.',
    async run(input, { db }) {
      const filter = {
        accountId: everybodys,
        purpose: null,
        messageId: null,
        result: returnedMailResults.find((each) => each === textOption(input, 'result')) ?? null,
      }
      const rows = await new ReturnedMailList(db).page(filter, { limit: mostRows, after: null, before: null })
      const shown = rows.slice(0, mostRows)
      const cells = shown.map((row) => [
        row.id,
        shownTime(row.received_at),
        row.purpose,
        row.result ?? 'waiting',
        row.message_id ?? '-',
        printable(row.recipient ?? '-'),
        row.remote_address,
      ])
      const json = { ...listObject(shown.map(feedbackReport.answer)), has_more: rows.length > mostRows }
      return { stdout: table([['ID', 'RECEIVED', 'PURPOSE', 'RESULT', 'EMAIL', 'TO', 'FROM HOST'], ...cells]), json }
    },
  },
  {
    name: 'feedback show',
    reads: true,
    args: ['REPORT'],
    options: {},
    doc: 'Prints a returned message (rep_…) and what it says, as JSON like the API.',
    async run(input, { db }) {
      const row = await new ReturnedMailList(db).find(argument(input, 0), everybodys)
      if (!row) throw new SternaError('not_found', `There is no report "${argument(input, 0)}".`)
      const json = feedbackReportDetail.answer(row)
      return { stdout: `${JSON.stringify(json, null, 2)}\n`, json }
    },
  },
]
