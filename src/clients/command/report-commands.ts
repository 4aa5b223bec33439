import type { feedbackReport } from '../../api/resource/feedback-resource.ts'
import { apiCommand } from './api-command.ts'
import { serverWide } from './command-scope.ts'
import type { Command } from './command.ts'

export const reportCommands: Command[] = [
  apiCommand<{ data: ReturnType<typeof feedbackReport.answer>[] }>({
    name: 'feedback list',
    does: 'feedback.list',
    of: serverWide,
    doc: 'Lists returned messages, the newest first, a page at a time: the address each came to, its result, and the email and recipient it is about.',
    columns: {
      ID: ({ id }) => id,
      RECEIVED: ({ received_at: at }) => at,
      PURPOSE: ({ purpose }) => purpose,
      RESULT: ({ result }) => result ?? 'waiting',
      EMAIL: ({ email_id: id }) => id ?? '-',
      TO: ({ to }) => to ?? '-',
      'FROM HOST': ({ remote_address: address }) => address,
    },
  }),
  apiCommand({
    name: 'feedback show',
    does: 'feedback.get',
    args: { REPORT: 'id' },
    of: serverWide,
    doc: 'Prints a returned message (rep_…) and what it says, as JSON like the API.',
  }),
]
