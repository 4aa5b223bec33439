import { dispositionNotification } from './automatic-reply.ts'
import { longestReason, type ReportedRecipient } from './feedback.ts'
import { reportedAddress } from './reported-address.ts'
import type { ReturnedMessage } from './returned-message.ts'
import { parseStatusFields } from './status-fields.ts'

/** Done without a person, and deleted (RFC 8098 3.2.6). */
const deletedBySystem = /^automatic-action\b.*;\s*deleted\b/i
/** What the filter writes into Auto-Submitted, and what only deletes does not. */
const rejected = /^auto-replied\s*\(rejected\)/i

/**
 * Whose filter threw the message away and says so by a disposition notification, as the `reject` of Sieve does (RFC 5429
 * 2.1.1); null for every other notification: whoever deletes a message unread may have one sent too, whatever its text
 * quotes of that message. It is never hard: what has a filter exists.
 */
export function parseRejection(message: ReturnedMessage): ReportedRecipient | null {
  const notification = message.part(dispositionNotification)
  if (!notification || !rejected.test(message.field('auto-submitted'))) return null
  const [fields] = parseStatusFields(notification.content)
  const valueOf = (name: string): string => fields?.get(name)?.[0] ?? ''
  if (!deletedBySystem.test(valueOf('disposition'))) return null
  return {
    address: reportedAddress(valueOf('final-recipient') || valueOf('original-recipient')),
    action: 'failed',
    hard: false,
    status: null,
    category: 'policy',
    smtpCode: null,
    reason: message.text.replace(/\s+/g, ' ').trim().slice(0, longestReason),
  }
}
