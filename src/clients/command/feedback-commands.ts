import { SternaError } from '../../platform/errors.ts'
import { startFeedbackParser, type FeedbackParser } from '../../mail-back/feedback/feedback-parser.ts'
import { concernedRecipients, type Feedback } from '../../mail/bounce-parser/feedback.ts'
import type { Command, CommandInput, CommandOutput } from './command.ts'
import { outputOfFiles } from './named-files.ts'

/** Has no `run`: it needs neither a server nor its data, so main.ts runs it. */
export const feedbackCommands: Command[] = [
  {
    name: 'feedback parse',
    needs: 'nothing',
    args: ['FILE…'],
    options: {},
    doc:
      'Explains what returned messages mean, as one line of JSON per file: bounce, complaint, autoreply, delivered or not-bounce, ' +
      'and the recipients concerned; for a bounce, those that the mail did not reach.',
  },
]

/** The meaning of a message that cannot be parsed. */
const notUnderstood: Pick<Feedback, 'class' | 'recipients'> = { class: 'not-bounce', recipients: [] }

/** Reports a file that cannot be opened on standard error, and still prints the others. */
export async function parseFeedbackFiles(input: CommandInput): Promise<CommandOutput> {
  const parser = startFeedbackParser()
  try {
    return await outputOfFiles(input, (file, document) => [async () => lineOf(file, await understand(parser, document))])
  } finally {
    await parser.stop()
  }
}

async function understand(parser: FeedbackParser, document: Buffer): Promise<Pick<Feedback, 'class' | 'recipients'>> {
  try {
    return await parser.parse(document)
  } catch (error) {
    if (error instanceof SternaError && error.code === 'invalid_message') return notUnderstood
    throw error
  }
}

function lineOf(file: string, report: Pick<Feedback, 'class' | 'recipients'>): string {
  const recipients = concernedRecipients(report).map(({ address, hard, status, category }) => ({ address, hard, status, category }))
  return JSON.stringify({ file, class: report.class, recipients })
}
