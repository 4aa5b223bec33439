import { hasNullReversePath, isAutomatic, isFromMailSystem, senderOf } from './automatic-reply.ts'
import type { Said } from './report-phrases.ts'
import type { ReturnedMessage } from './returned-message.ts'

/** The same in every language. */
export const refusal = /(?<![\d.])[45]\d\d[ -][45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/
/** A quoted reply, at the start of a line or after an introduction. */
export const quotedReply = /(?:^|[:<>("'])[ \t]{0,8}[45][0-5]\d[ -]/m
/** In the languages of many mail programs. */
export const answerSubject =
  /^\s*(?:re|res|r|aw|antw|sv|vs|odp|ynt|回复|回覆|答复|返信|답장|fwd?|fw|wg|tr|rv|enc|i|vb|vl|pd|ilt|doorst|转发|轉寄|転送|전달)\s*[:：]/i
/** Fields of conversations about bounces, and of mailing lists. */
export const conversation = ['in-reply-to', 'references']
export const listFields = 'list-id list-unsubscribe list-post mailing-list x-mailing-list feedback-id x-campaign x-campaignid'.split(' ')

export const saysNotDelivered = (said: Said): boolean => said.has('notDelivered') || said.has('later')

/**
 * True if a message without a delivery status presents itself as a mail system's report in sender and subject, and its text says that mail
 * did not arrive. The text alone does not suffice, because people and lists also write about bounces.
 */
export function isBounceNotice(message: ReturnedMessage, text: string): boolean {
  if (message.has('x-failed-recipients')) return true
  const { phrases } = message.vocabulary
  const said = phrases.saidIn(text)
  const subject = message.field('subject').slice(0, 300)
  const returns = returnsMessage(message)
  const quotes = refusal.test(text) || quotedReply.test(text)
  // A notice to a mailbox owner or an operator quotes no refusal and returns no message.
  const isForReader = said.has('held') || (said.has('toReader') && !said.has('ofReader'))
  if (!returns && (phrases.says(subject, 'readerSubject') || (!quotes && isForReader))) return false
  const hasNull = hasNullReversePath(message)
  const isAnswer = answerSubject.test(subject) && message.has(...conversation)
  const mailer = `${message.field('user-agent')} ${message.field('x-mailer')}`
  if (!hasNull && !isAutomatic(message) && (isAnswer || phrases.says(mailer, 'mailProgram'))) return false
  const isAboutDelivery = phrases.says(subject, 'reportSubject', 'refusalSubject', 'notDelivered', 'later')
  if (hasNull && returns) return true
  if (isFromMailSystem(message)) return isAboutDelivery || saysNotDelivered(said) || refusal.test(text)
  if (message.has(...listFields) || phrases.says(senderOf(message), 'otherProgram')) return false
  if (hasNull || isFromReportingSystem(message)) return isAboutDelivery || refusal.test(text)
  if (!isAboutDelivery || answerSubject.test(subject) || message.has(...conversation)) return false
  // Parcels and payments can fail to be delivered, too.
  const own = phrases.saidIn(withoutQuotes(text))
  const isAboutMail = !own.has('notMail') || own.has('ofMail') || own.has('ofReader')
  return saysNotDelivered(own) && (quotes || isAboutMail)
}

/** The text without lines that it quotes, but with Sendmail's dialogue. */
export const withoutQuotes = (text: string): string => text.replace(/^ ?>(?!>>).*$/gm, '')

/** True if the mail has no author, or comes from a program that handles mail. */
const isFromReportingSystem = (message: ReturnedMessage): boolean =>
  /^(?:<>)?$/.test(message.field('from')) || message.says(senderOf(message), 'reportingSystem')

export const returnsMessage = (message: ReturnedMessage): boolean => message.part(/^(?:message\/|text\/rfc822)/) !== undefined
