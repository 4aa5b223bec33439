import { explainAttempt } from '../explanation/explain-attempt.ts'
import { emailDetail } from '../http/api/email-reading-operations.ts'
import { isoTime } from '../iso-time.ts'
import { startMessageParser } from '../message/message-parser.ts'
import { MessageReader, type AttemptRow } from '../message/message-reader.ts'
import { contentKeptMs } from '../message/retention.ts'
import type { MessageRow } from '../message/message-store.ts'
import type { CommandServices } from './command-services.ts'
import { printable } from './command.ts'

type Email = Awaited<ReturnType<typeof emailDetail>>

/** An email as the API shows it, with its bodies. */
export async function readEmail(message: MessageRow, { config, db, log }: Pick<CommandServices, 'config' | 'db' | 'log'>): Promise<Email> {
  const messageParser = startMessageParser()
  try {
    return await emailDetail(message, { messages: new MessageReader(db), messageParser, log, contentKeptMs: () => contentKeptMs(config) })
  } finally {
    await messageParser.stop()
  }
}

/** An email for a terminal: its envelope, and each recipient with the newest attempt explained. */
export function messagePage(email: Email, { account_id: accountId, source, size, sandbox }: MessageRow, attempts: AttemptRow[]): string {
  const lines = [
    email.id,
    `  account   ${accountId}${sandbox === 1 ? ', sandbox' : ''}`,
    `  accepted  ${email.created_at} over ${source === 'smtp' ? 'SMTP' : 'HTTP'}, ${size} bytes`,
    `  from      ${email.from}`,
    `  to        ${[...email.to, ...(email.cc ?? []), ...(email.bcc ?? [])].join(', ')}`,
    `  subject   ${email.subject}`,
    `  status    ${email.status}${email.scheduled_at === null ? '' : `, scheduled for ${email.scheduled_at}`}`,
    ...email.recipients.flatMap((recipient) => ['', ...recipientLines(recipient, attempts)]),
  ]
  return `${lines.map(printable).join('\n')}\n`
}

function recipientLines(recipient: Email['recipients'][number], attempts: AttemptRow[]): string[] {
  const { email, status, attempts: count, next_attempt_at: next, last_response: response } = recipient
  const newest = attempts.find((attempt) => attempt.forward_path === email)
  return [
    `  ${email}: ${status} after ${count} ${count === 1 ? 'attempt' : 'attempts'}${next === null ? '' : `; next attempt ${next}`}`,
    ...(response === null ? [] : [`    last response  ${response}`]),
    ...(newest ? attemptLines(newest).map((line) => `    ${line}`) : []),
  ]
}

/** An attempt in plain words. */
export function attemptLines(attempt: AttemptRow): string[] {
  const { outcome, mx_host: host, started_at: at, smtp_code: smtpCode, enhanced_status: enhancedStatus, reply } = attempt
  const { cause, advice } = explainAttempt({ outcome, smtpCode, enhancedStatus, reply })
  return [
    `${isoTime(at)}  ${outcome}${host === null ? '' : ` by ${host}`}`,
    ...(outcome === 'delivered' ? [] : [`what it means  ${cause}`, `what to do     ${advice}`]),
  ]
}
