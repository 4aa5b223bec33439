import type { BounceCategory } from '../../mail/bounce-parser/refusal.ts'
import { formatDate } from '../../mail/message/format-field.ts'
import type { Notice, NoticeAction, NoticeRecipient } from './notice.ts'

const headlines: Record<NoticeAction, string> = {
  failed: 'Not delivered',
  delayed: 'Delayed',
  delivered: 'Delivered',
  relayed: 'Handed on',
}

/** What to do about a failure. */
const advice: Record<BounceCategory, string> = {
  invalid_recipient: 'The address does not exist or accepts no mail. Check the spelling, and do not write to it again.',
  mailbox_full: 'The mailbox is full. Send the message again later, or contact its owner in another way.',
  domain_not_found: 'The domain does not exist or cannot be reached. Check the spelling of the address.',
  content_rejected:
    'The receiving server refused the message because it is too large or because of its content. Change it before you send it again.',
  policy: 'The receiving server does not accept this message. Ask the operator of this server, or contact the recipient in another way.',
  reputation: 'The receiving server does not trust this server or this sender. Ask the operator of this server to look into it.',
  timeout: 'The receiving server did not answer in time. Send the message again if it still matters.',
  expired: 'It could not be delivered in the time allowed. Send the message again if it still matters.',
  suppressed:
    'The address is on the suppression list of your account, so nothing was sent. Remove it from the list if you want to write to it again.',
  internal_error: 'This is an error of this server. Please tell its operator.',
  other: 'No more is known than what is said above.',
}

/** The Subject field. */
export const noticeSubject = ({ action, original }: Notice): string =>
  `${headlines[action]}: ${onOneLine(original.subject) || '(no subject)'}`.slice(0, 250).toWellFormed()

/** The text for people: what happened, to whom, why, and what to do. */
export function noticeText(notice: Notice, { hostname, operator }: { hostname: string; operator: string }): string {
  const { action, original, recipients } = notice
  const whole = original.returned.isWhole ? 'The message' : 'The header of the message'
  return [
    wrapped(`This is the mail server ${hostname}. ${opening(action, recipients.length)}`),
    '',
    `  Subject: ${onOneLine(original.subject)}`,
    `  Taken over: ${formatDate(original.arrivedAt)}`,
    '',
    ...recipients.flatMap((recipient) => [...aboutRecipient(action, recipient), '']),
    wrapped(`${whole} is attached, after a report for programs. To reach the operator of this server, write to ${operator}.`),
    '',
  ].join('\n')
}

function opening(action: NoticeAction, count: number): string {
  const whom = count === 1 ? 'this address' : 'these addresses'
  switch (action) {
    case 'failed':
      return `Your message could not be delivered to ${whom}, and there will be no further attempts:`
    case 'delayed':
      return `Your message could not be delivered to ${whom} yet. You need not send it again: this server keeps trying.`
    case 'delivered':
      return `Your message was accepted by the mail server of ${whom}. You asked for this notice:`
    case 'relayed':
      return `Your message was handed on to another mail server, which will deliver it to ${whom}. You may not be notified when it arrives.`
  }
}

function aboutRecipient(
  action: NoticeAction,
  { address, reason, remoteHost, smtpCode, category, retriedUntil }: NoticeRecipient,
): string[] {
  const lines = [`<${address}>`]
  const said = reason === null ? '' : onOneLine(reason)
  if (said !== '') lines.push(smtpCode !== null && remoteHost !== null ? wrapped(`${remoteHost} said: ${said}`, '  ') : wrapped(said, '  '))
  if (action === 'failed') lines.push(wrapped(advice[category ?? 'other'], '  '))
  if (retriedUntil !== null) lines.push(`  This server tries until ${formatDate(retriedUntil)}.`)
  return lines
}

/** Wraps at spaces, to lines of 76 characters where words are short enough. */
function wrapped(text: string, indent = ''): string {
  const lineOrLongWord = new RegExp(`(.{1,${76 - indent.length}})(?: +|$)|([^ ]+) *`, 'gu')
  return text.replace(lineOrLongWord, (_, line = '', long = '') => `${indent}${line || long}\n`).trimEnd()
}

const onOneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
