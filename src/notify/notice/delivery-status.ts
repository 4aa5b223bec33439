import { isAscii } from 'node:buffer'
import type { BounceCategory } from '../../mail/bounce-parser/refusal.ts'
import { formatCustomField, formatDate } from '../../mail/message/format-field.ts'
import type { Notice, NoticeAction, NoticeRecipient } from './notice.ts'

/** Codes (RFC 3463) for failures to which neither a server nor we gave one. */
const codeOfCategory: Record<BounceCategory, string> = {
  invalid_recipient: '5.1.1',
  mailbox_full: '5.2.2',
  domain_not_found: '5.1.2',
  content_rejected: '5.6.0',
  policy: '5.7.1',
  reputation: '5.7.1',
  timeout: '4.4.2',
  expired: '4.4.7',
  suppressed: '5.7.1',
  internal_error: '5.3.0',
  other: '5.0.0',
}

/** The code classes that an action may have. A failure may be a delay that lasted too long. */
const classesOf: Record<NoticeAction, string[]> = { failed: ['5', '4'], delayed: ['4'], delivered: ['2'], relayed: ['2'] }

/** The Status field: the given code, if it fits the action. */
export function statusOf(action: NoticeAction, { enhancedStatus, smtpCode, category }: NoticeRecipient): string {
  if (enhancedStatus !== null && classesOf[action].includes(enhancedStatus[0] ?? '')) return enhancedStatus
  if (action === 'failed') return codeOfCategory[category ?? 'other']
  if (action === 'delayed') return smtpCode === null ? '4.4.1' : '4.0.0'
  return '2.0.0'
}

/** True if a notice needs the formats for non-ASCII addresses (RFC 6533). */
export const isInternational = ({ original, recipients }: Notice): boolean =>
  original.smtputf8 || recipients.some(({ address, orcpt }) => !isPlain(address) || !isPlain(orcpt ?? ''))

/** The body of a message/delivery-status part or, if needed, a message/global-delivery-status part. */
export function deliveryStatus(notice: Notice, hostname: string): Buffer {
  const { original, action, recipients } = notice
  const international = isInternational(notice)
  const fields: [string, string][] = [['Reporting-MTA', `dns; ${hostname}`]]
  if (original.envid !== null) fields.push(['Original-Envelope-Id', decodeXtext(original.envid)])
  fields.push(['Arrival-Date', formatDate(original.arrivedAt)])
  const groups = [fields, ...recipients.map((recipient) => recipientFields(action, recipient))]
  return Buffer.from(
    groups.map((group) => `${group.map(([name, value]) => formatted(name, value, international)).join('\r\n')}\r\n`).join('\r\n'),
  )
}

function recipientFields(action: NoticeAction, recipient: NoticeRecipient): [string, string][] {
  const { address, orcpt, smtpCode, reason, remoteHost, lastAttemptAt, retriedUntil } = recipient
  const fields: [string, string][] = []
  if (orcpt !== null) fields.push(['Original-Recipient', originalRecipient(orcpt)])
  fields.push(
    ['Final-Recipient', `${isPlain(address) ? 'rfc822' : 'utf-8'}; ${address}`],
    ['Action', action],
    ['Status', statusOf(action, recipient)],
  )
  if (remoteHost !== null) fields.push(['Remote-MTA', `dns; ${remoteHost}`])
  // A server's reply is quoted verbatim. Our own words have a type of their own (RFC 3464 2.3.6).
  if (reason !== null) fields.push(['Diagnostic-Code', `${smtpCode === null ? 'x-sterna' : 'smtp'}; ${reason}`])
  if (lastAttemptAt !== null) fields.push(['Last-Attempt-Date', formatDate(lastAttemptAt)])
  if (retriedUntil !== null) fields.push(['Will-Retry-Until', formatDate(retriedUntil)])
  return fields
}

function originalRecipient(orcpt: string): string {
  const semicolon = orcpt.indexOf(';')
  return `${orcpt.slice(0, semicolon)}; ${decodeXtext(orcpt.slice(semicolon + 1))}`
}

/** Cuts strangers' texts, because a line has at most 998 octets. */
const maxValueLength = { ascii: 600, utf8: 240 }

function formatted(name: string, value: string, international: boolean): string {
  const line = value.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  if (isPlain(line)) return formatCustomField(name, line.slice(0, maxValueLength.ascii))
  if (!international) return formatCustomField(name, line.slice(0, maxValueLength.ascii).replace(/[^\x20-\x7e]/gu, '?'))
  return `${name}: ${Array.from(line).slice(0, maxValueLength.utf8).join('').toWellFormed()}`
}

/** RFC 3461 4 */
const decodeXtext = (text: string): string => text.replace(/\+([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))

const isPlain = (text: string): boolean => isAscii(Buffer.from(text))
