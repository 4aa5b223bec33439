import { dispositionNotification } from './automatic-reply.ts'
import { reportWords, saysNotDelivered } from './bounce-words.ts'
import { longestReason } from './feedback-report.ts'
import type { ReportedRecipient } from './feedback-report.ts'
import { reportedAddress } from './reported-address.ts'
import { headerValue, textOf } from './returned-message.ts'
import type { ReturnedMessage } from './returned-message.ts'
import { parseStatusFields } from './status-fields.ts'

/** Done without a person, and deleted (RFC 8098 3.2.6). */
const deletedBySystem = /^automatic-action\b.*;\s*deleted\b/i

/**
 * Whose filter threw the message away and says so by a disposition notification, as the `reject` of Sieve does (RFC 5429
 * 2.1.1); null for every other notification: whoever deletes a message unread may have one sent too. It is never hard: what
 * has a filter exists.
 */
export function parseRejection(message: ReturnedMessage): ReportedRecipient | null {
  const content = dispositionNotification(message)
  if (content === undefined) return null
  const { message: common, recipients } = parseStatusFields(content)
  const valueOf = (name: string): string => (recipients[0]?.get(name) ?? common.get(name))?.[0] ?? ''
  const text = textOf(message).replace(/\s+/g, ' ').trim()
  if (!deletedBySystem.test(valueOf('disposition')) || !saysRejected(message, text)) return null
  return {
    address: reportedAddress(valueOf('final-recipient') || valueOf('original-recipient')),
    action: 'failed',
    hard: false,
    status: null,
    category: 'policy',
    smtpCode: null,
    reason: text.slice(0, longestReason),
  }
}

const saysRejected = (message: ReturnedMessage, text: string): boolean =>
  /^auto-replied\s*\(rejected\)/i.test(headerValue(message, 'auto-submitted')) || saysNotDelivered(reportWords(text))
