import { mxProviderOf } from '../../mail-out/delivery/mx-provider.ts'
import { explainAttempt } from '../../readers/explanation/explain-attempt.ts'
import { factsOfAttempt } from '../../readers/explanation/facts-of-attempt.ts'
import type { emailResource } from '../../api/resource/email-resource.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { AttemptRow } from '../../mail/message/message-reader.ts'
import type { MessageRow } from '../../mail/message/message-store.ts'
import type { CommandServices } from './command-services.ts'
import { printable } from './command.ts'

type Email = ReturnType<typeof emailResource.answer>

/** An email as the API shows it, with its bodies. */
export const readEmail = ({ id, account_id: accountId, sandbox }: MessageRow, { perform }: Pick<CommandServices, 'perform'>) =>
  perform('emails.get', { scope: { accountId, sandbox: sandbox === 1 }, params: { id } }) as Promise<Email>

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
    ...(email.priority === 'normal' ? [] : [`  priority  ${email.priority}`]),
    ...(email.require_tls === null
      ? []
      : [`  TLS       ${email.require_tls ? 'required at every hop' : "not required, even by the recipient's policies"}`]),
    ...email.recipients.flatMap((recipient) => ['', ...recipientLines(recipient, attempts)]),
  ]
  return `${lines.map(printable).join('\n')}\n`
}

function recipientLines(recipient: Email['recipients'][number], attempts: AttemptRow[]): string[] {
  const { email, status, attempts: count, next_attempt_at: next, last_response: response, explanation, suppression } = recipient
  const newest = attempts.find((attempt) => attempt.forward_path === email)
  return [
    `  ${email}: ${status} after ${count} ${count === 1 ? 'attempt' : 'attempts'}${next === null ? '' : `; next attempt ${next}`}`,
    ...(response === null ? [] : [`    last response  ${response}`]),
    ...(newest ? [`    ${attemptLine(newest)}`] : []),
    ...(explanation ? meaningLines(explanation).map((line) => `    ${line}`) : []),
    ...(suppression ? [`    suppressed     since ${suppression.created_at} by ${causeOf(suppression)}`] : []),
  ]
}

const causeOf = ({ origin, source_id: source, reason }: NonNullable<Email['recipients'][number]['suppression']>): string =>
  `${origin}${source === null ? '' : ` of ${source}`}${reason === null ? '' : `: ${reason}`}`

const meaningLines = ({ cause, advice }: { cause: string; advice: string }): string[] => [
  `what it means  ${cause}`,
  `what to do     ${advice}`,
]

const attemptLine = ({ outcome, mx_host: host, started_at: at }: AttemptRow): string =>
  `${isoTime(at)}  ${outcome}${host === null ? '' : ` by ${host}`}`

/** An attempt in plain words. */
export function attemptLines(attempt: AttemptRow): string[] {
  const explanation = explainAttempt(factsOfAttempt(attempt, mxProviderOf))
  return [attemptLine(attempt), ...(attempt.outcome === 'delivered' ? [] : meaningLines(explanation))]
}
