import { SternaError } from '../errors.ts'
import { ReturnedMailList } from '../feedback/returned-mail-list.ts'
import { returnedMailResults, type ReturnedMailResult } from '../feedback/returned-mail-result.ts'
import { feedbackReportDetail } from '../http/api/feedback-resource.ts'
import { argument, printable, shownTime, table, textOption, type Command } from './command.ts'

const everybodys = null
/** One list's options. */
const mostRows = 100

export const reportCommands: Command[] = [
  {
    name: 'feedback list',
    reads: true,
    args: [],
    options: { result: { type: 'string', value: 'RESULT', doc: `Only those with this result: ${returnedMailResults.join(', ')}.` } },
    doc: 'Lists the newest hundred returned messages: the address each came to, its result, and the email and recipient it is about.',
    async run(input, { db }) {
      const filter = { accountId: everybodys, purpose: null, messageId: null, result: resultIn(textOption(input, 'result')) }
      const rows = await new ReturnedMailList(db).page(filter, { limit: mostRows, after: null, before: null })
      const cells = rows
        .slice(0, mostRows)
        .map((row) => [
          row.id,
          shownTime(row.received_at),
          row.purpose,
          row.result ?? 'waiting',
          row.message_id ?? '-',
          printable(row.recipient ?? '-'),
          row.remote_address,
        ])
      return { stdout: table([['ID', 'RECEIVED', 'PURPOSE', 'RESULT', 'EMAIL', 'TO', 'FROM HOST'], ...cells]) }
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
      return { stdout: `${JSON.stringify(feedbackReportDetail.answer(row), null, 2)}\n` }
    },
  },
]

function resultIn(text: string | undefined): ReturnedMailResult | null {
  const result = returnedMailResults.find((each) => each === text)
  if (text !== undefined && !result) throw new SternaError('validation_error', `--result must be one of ${returnedMailResults.join(', ')}.`)
  return result ?? null
}
