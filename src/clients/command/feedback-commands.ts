import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { SternaError } from '../../platform/errors.ts'
import { startFeedbackParser, type FeedbackParser } from '../../mail-back/feedback/feedback-parser.ts'
import { concernedRecipients, type Feedback } from '../../mail/bounce-parser/feedback.ts'
import type { Command, CommandInput, CommandOutput } from './command.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

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
export async function parseFeedbackFiles({ args, cwd }: CommandInput): Promise<CommandOutput> {
  const parser = startFeedbackParser()
  const result = { stdout: '', json: undefined, stderr: '', exitCode: 0 }
  try {
    for (const file of args) {
      try {
        const document = await readFile(resolve(cwd, file))
        result.stdout += `${lineOf(file, await understand(parser, document))}\n`
      } catch (error) {
        if (error instanceof SternaError) throw error
        result.stderr += `sterna: ${unreadable(file, error)}\n`
        result.exitCode = 1
      }
    }
  } finally {
    await parser.stop()
  }
  return result
}

function unreadable(file: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'ENOENT') return `There is no file ${file}.`
  return `${file} cannot be read: ${reasonOf(error)}`
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
