import { reportWords, says, senderWords } from './bounce-words.ts'
import { headerValue, type ReturnedMessage } from './returned-message.ts'

/** Fields that only programs which answer for a person or open a ticket write, whatever they hold. */
const replyFields = (
  'x-autoreply x-autoreply-from x-autorespond x-autoresponder x-auto-reply x-mail-autoreply x-vacation x-ms-exchange-inbox-rules-loop ' +
  'x-rt-loop-prevention x-rt-ticket x-otrs-loop x-jira-fingerprint x-zendesk-email-id x-freshdesk-ticket x-helpscout-event-type'
).split(' ')

const challengeFields = [
  'x-tmda-confirm-done',
  'x-tmda-fingerprint',
  'x-tmda-released',
  'x-spamarrest',
  'x-boxbe',
  'x-challenge',
  'x-bluebottle-request',
]

const hasField = (message: ReturnedMessage, names: readonly string[]): boolean => message.headers.some(({ name }) => names.includes(name))

/** True where the message names itself the word of a mail system, not of somebody's mailbox. */
export const isFromMailSystem = (message: ReturnedMessage): boolean =>
  says(senderWords(headerValue(message, 'from')), 'mailSystem') || hasField(message, ['x-failed-recipients'])

/** True of mail that came under the null reverse-path, as reports do (RFC 5321 4.5.5). */
export const hasNullReversePath = (message: ReturnedMessage): boolean => /^<\s*>/.test(headerValue(message, 'return-path'))

/**
 * True where a message can be nothing but an answer made for a person: a vacation notice, or a challenge to confirm that a
 * person wrote. What such a mail quotes is no word about a delivery. Reports of mail systems are never taken for one.
 */
export function isPersonalReply(message: ReturnedMessage): boolean {
  if (isFromMailSystem(message)) return false
  if (hasField(message, replyFields)) return true
  const subject = reportWords(headerValue(message, 'subject').slice(0, 500))
  if (says(subject, 'reportSubject')) return false
  if (says(subject, 'answer', 'challenge')) return true
  if (hasField(message, challengeFields)) return true
  if (/\btmda\b/i.test(headerValue(message, 'x-delivery-agent'))) return true
  return /^auto[-_ ]?reply/i.test(headerValue(message, 'precedence'))
}

/** True where a message calls itself automatic (RFC 3834 5), as reports of mail systems do too. */
export function isAutomatic(message: ReturnedMessage): boolean {
  const submitted = headerValue(message, 'auto-submitted')
  return /^auto-/i.test(submitted) || hasField(message, ['x-auto-response-suppress'])
}

/** The fields of the notice that a message was read or deleted (RFC 8098 3); undefined where there is none. */
export const dispositionNotification = ({ parts }: ReturnedMessage): string | undefined =>
  parts.find(({ contentType }) => /^message\/(?:global-)?disposition-notification$/.test(contentType))?.content

/** True for such a notice, whoever calls the message failed. */
export const isDispositionNotification = (message: ReturnedMessage): boolean =>
  dispositionNotification(message) !== undefined ||
  /report-type\s*=\s*"?disposition-notification/i.test(headerValue(message, 'content-type'))
