import { isAscii } from 'node:buffer'
import { domainOf } from '../../platform/smtp/address.ts'
import { parseMailboxList } from '../../platform/smtp/mailbox.ts'
import { formatCustomField, formatDate, formatMailboxes, formatTextField } from './format-field.ts'
import { headerSummary, type HeaderInput, type HeaderSummary } from './header-summary.ts'
import { randomText } from './random-text.ts'

export interface ComposedHeader {
  /** All fields except the MIME ones, without the final CRLF. */
  text: string
  summary: HeaderSummary
}

/** Reply-To is an address field, unlike the others that a caller may set. */
function customField(name: string, value: string): string {
  const replyTo = name.toLowerCase() === 'reply-to' ? parseMailboxList(value, 'lenient') : null
  const isRewritten = replyTo?.ok && replyTo.mailboxes.length > 0 && !(replyTo.isPlain && isAscii(Buffer.from(value)))
  return isRewritten ? formatMailboxes(name, replyTo.mailboxes) : formatCustomField(name, value)
}

/** The fields that both composers share, so that an email has the same header whichever composes it. */
export function composeHeader(email: HeaderInput & { headers: Record<string, string> }, { now }: { now: number }): ComposedHeader {
  const messageIdHeader = `<${randomText(16, 'hex')}@${domainOf(email.from.address)}>`
  const fields = [formatMailboxes('From', [email.from])]
  if (email.to.length > 0) fields.push(formatMailboxes('To', email.to))
  if (email.cc.length > 0) fields.push(formatMailboxes('Cc', email.cc))
  if (email.replyTo.length > 0) fields.push(formatMailboxes('Reply-To', email.replyTo))
  fields.push(formatTextField('Subject', email.subject), `Date: ${formatDate(now)}`, `Message-ID: ${messageIdHeader}`)
  for (const [name, value] of Object.entries(email.headers)) fields.push(customField(name, value))
  return { text: fields.join('\r\n'), summary: headerSummary(email, messageIdHeader) }
}
