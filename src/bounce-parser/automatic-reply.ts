import type { ReturnedMessage } from './returned-message.ts'

/** Fields that only programs which answer for a person or open a ticket write, whatever they hold. */
const replyFields = (
  'x-autoreply x-autoreply-from x-autorespond x-autoresponder x-auto-reply x-mail-autoreply x-vacation x-ms-exchange-inbox-rules-loop ' +
  'x-rt-loop-prevention x-rt-ticket x-otrs-loop x-jira-fingerprint x-zendesk-email-id x-freshdesk-ticket x-helpscout-event-type'
).split(' ')

const challengeFields =
  'x-tmda-confirm-done x-tmda-fingerprint x-tmda-released x-spamarrest x-boxbe x-challenge x-bluebottle-request'.split(' ')

/** Who sent a message, without the name of a host. */
export const senderOf = (message: ReturnedMessage): string =>
  message
    .field('from')
    .slice(0, 500)
    .replace(/@[^>\s]*/g, ' ')

/** True where the message names itself the word of a mail system, not of somebody's mailbox. */
export const isFromMailSystem = (message: ReturnedMessage): boolean =>
  message.says(senderOf(message), 'mailSystem') || message.has('x-failed-recipients')

/** True of mail that came under the null reverse-path, as reports do (RFC 5321 4.5.5). */
export const hasNullReversePath = (message: ReturnedMessage): boolean => /^<\s*>/.test(message.field('return-path'))

/**
 * True where a message can be nothing but an answer made for a person: a vacation notice, or a challenge to confirm that a
 * person wrote. What such a mail quotes is no word about a delivery. Reports of mail systems are never taken for one.
 */
export function isPersonalReply(message: ReturnedMessage): boolean {
  if (isFromMailSystem(message)) return false
  if (message.has(...replyFields)) return true
  const subject = message.field('subject').slice(0, 500)
  if (message.says(subject, 'reportSubject')) return false
  if (message.says(subject, 'answer', 'challenge') || message.has(...challengeFields)) return true
  return /\btmda\b/i.test(message.field('x-delivery-agent')) || /^auto[-_ ]?reply/i.test(message.field('precedence'))
}

/** True where a message calls itself automatic (RFC 3834 5), as reports of mail systems do too. */
export const isAutomatic = (message: ReturnedMessage): boolean =>
  /^auto-/i.test(message.field('auto-submitted')) || message.has('x-auto-response-suppress')

/** The notice that a message was read or deleted (RFC 8098 3). */
export const dispositionNotification = /^message\/(?:global-)?disposition-notification$/

/** True for such a notice, whoever calls the message failed. */
export const isDispositionNotification = (message: ReturnedMessage): boolean =>
  message.part(dispositionNotification) !== undefined || /report-type\s*=\s*"?disposition-notification/i.test(message.field('content-type'))
