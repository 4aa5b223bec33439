import type { ReturnedMessage } from './returned-message.ts'

/** Fields that only auto-responders and ticket systems write, whatever their value. */
const replyFields = (
  'x-autoreply x-autoreply-from x-autorespond x-autoresponder x-auto-reply x-mail-autoreply x-vacation x-ms-exchange-inbox-rules-loop ' +
  'x-rt-loop-prevention x-rt-ticket x-otrs-loop x-jira-fingerprint x-zendesk-email-id x-freshdesk-ticket x-helpscout-event-type'
).split(' ')

const challengeFields =
  'x-tmda-confirm-done x-tmda-fingerprint x-tmda-released x-spamarrest x-boxbe x-challenge x-bluebottle-request'.split(' ')

/** The From field without host names. */
export const senderOf = (message: ReturnedMessage): string =>
  message
    .field('from')
    .slice(0, 500)
    .replace(/@[^>\s]*/g, ' ')

/** True if the sender is a mail system rather than a person. */
export const isFromMailSystem = (message: ReturnedMessage): boolean =>
  message.says(senderOf(message), 'mailSystem') || message.has('x-failed-recipients')

/** True for mail with the null reverse-path, as bounces have (RFC 5321 4.5.5). */
export const hasNullReversePath = (message: ReturnedMessage): boolean => /^<\s*>/.test(message.field('return-path'))

/**
 * True if a message can only be an automatic reply on a person's behalf: a vacation notice, or a challenge to prove that a person wrote.
 * What such a reply quotes says nothing about delivery. Never true for a mail system's report.
 */
export function isPersonalReply(message: ReturnedMessage): boolean {
  if (isFromMailSystem(message)) return false
  if (message.has(...replyFields)) return true
  const subject = message.field('subject').slice(0, 500)
  if (message.says(subject, 'reportSubject')) return false
  if (message.says(subject, 'answer', 'challenge') || message.has(...challengeFields)) return true
  return /\btmda\b/i.test(message.field('x-delivery-agent')) || /^auto[-_ ]?reply/i.test(message.field('precedence'))
}

/** True if a message calls itself automatic (RFC 3834 5), as mail systems' reports also do. */
export const isAutomatic = (message: ReturnedMessage): boolean =>
  /^auto-/i.test(message.field('auto-submitted')) || message.has('x-auto-response-suppress')

/** A notification that a message was read or deleted (RFC 8098 3). */
export const dispositionNotification = /^message\/(?:global-)?disposition-notification$/

/** True for such a notification, even if it calls the message failed. */
export const isDispositionNotification = (message: ReturnedMessage): boolean =>
  message.part(dispositionNotification) !== undefined || /report-type\s*=\s*"?disposition-notification/i.test(message.field('content-type'))
