import type { BounceCategory } from '../bounce-parser/refusal.ts'
import { formatDate } from '../message/format-field.ts'
import type { Notice, NoticeAction, NoticeRecipient } from './notice.ts'

const headlines: Record<NoticeAction, string> = {
  failed: 'Not delivered',
  delayed: 'Delayed',
  delivered: 'Delivered',
  relayed: 'Handed on',
}

/** What somebody can do about a failure. */
const advice: Record<BounceCategory, string> = {
  invalid_recipient: 'There is no such address, or it takes no mail. Look whether it is written correctly, and write to it no more.',
  mailbox_full: 'The mailbox is full. Send the message again later, or reach its owner in another way.',
  domain_not_found: 'There is no such domain, or it cannot be reached. Look whether the address is written correctly.',
  content_rejected:
    'The receiving server does not take the message as it is: too large, or something in it is not wanted. Change it before you send it again.',
  policy: 'The receiving server does not let this message in. Ask the operator of this server, or reach the recipient in another way.',
  reputation: 'The receiving server does not trust this server or this sender. Ask the operator of this server to look into it.',
  timeout: 'The receiving server did not answer in time. Send the message again if it still matters.',
  expired: 'It was tried until its time was over. Send the message again if it still matters.',
  suppressed: 'It is on the suppression list of your account, so nothing was sent. Take it off that list if it shall be written to again.',
  internal_error: 'This is a fault of this server. Tell its operator.',
  other: 'What is said above is all that is known.',
}

/** The Subject field. */
export const noticeSubject = ({ action, original }: Notice): string =>
  `${headlines[action]}: ${onOneLine(original.subject) || '(no subject)'}`.slice(0, 250).toWellFormed()

/** The part for people: what happened, to whom, why, and what to do. */
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
    wrapped(`${whole} is attached, and before it a report for programs. The operator of this server is reached at ${operator}.`),
    '',
  ].join('\n')
}

function opening(action: NoticeAction, count: number): string {
  const whom = count === 1 ? 'this address' : 'these addresses'
  switch (action) {
    case 'failed':
      return `Your message could not be delivered to ${whom}, and no further attempt is made:`
    case 'delayed':
      return `Your message could not be delivered to ${whom} yet. You need not send it again: it is tried further.`
    case 'delivered':
      return `Your message was taken over by the mail server of ${whom}, as you wanted to be told:`
    case 'relayed':
      return `Your message was handed on to another mail server, which delivers it to ${whom}. You may not hear when it has arrived.`
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
  if (retriedUntil !== null) lines.push(`  It is tried until ${formatDate(retriedUntil)}.`)
  return lines
}

/** At spaces, into lines of 76 characters where words are short enough. */
function wrapped(text: string, indent = ''): string {
  const lineOrLongWord = new RegExp(`(.{1,${76 - indent.length}})(?: +|$)|([^ ]+) *`, 'gu')
  return text.replace(lineOrLongWord, (_, line = '', long = '') => `${indent}${line || long}\n`).trimEnd()
}

const onOneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
