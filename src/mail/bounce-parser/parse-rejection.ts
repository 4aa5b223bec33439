import { dispositionNotification } from './automatic-reply.ts'
import { maxReasonLength, type ReportedRecipient } from './feedback.ts'
import { reportedAddress } from './reported-address.ts'
import type { ReturnedMessage } from './returned-message.ts'
import { parseStatusFields } from './status-fields.ts'

/** Done without a person, and deleted (RFC 8098 3.2.6). */
const deletedBySystem = /^automatic-action\b.*;\s*deleted\b/i
/** Written by a filter that rejects; a filter that only deletes does not write it. */
const rejected = /^auto-replied\s*\(rejected\)/i

/**
 * A rejection sent as a disposition notification, as by Sieve's `reject` (RFC 5429 2.1.1). Null for every other notification: deleting a
 * message unread may send one, too, with any text quoted. Never hard, because a mailbox with a filter exists.
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
    reason: message.text.replace(/\s+/g, ' ').trim().slice(0, maxReasonLength),
  }
}
