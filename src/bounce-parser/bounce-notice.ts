import { hasNullReversePath, isAutomatic, isFromMailSystem, senderOf } from './automatic-reply.ts'
import { reportedAddress } from './reported-address.ts'
import type { Said } from './report-phrases.ts'
import type { ReturnedMessage } from './returned-message.ts'

/** The same in every language. */
const refusal = /(?<![\d.])[45]\d\d[ -][45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/
/** A quoted reply, at the start of a line or after an introduction. */
const quotedReply = /(?:^|[:<>("'])[ \t]{0,8}[45][0-5]\d[ -]/m
const answerSubject = /^\s*(?:re|fwd?|aw|tr|rv|sv|antw|wg)\s*:/i
/** Fields of conversations about bounces, and of mailing lists. */
const conversation = ['in-reply-to', 'references']
const listFields = 'list-id list-unsubscribe list-post mailing-list x-mailing-list feedback-id x-campaign x-campaignid'.split(' ')

const saysNotDelivered = (said: Said): boolean => said.has('notDelivered') || said.has('later')

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
  const own = phrases.saidIn(text.replace(/^ ?>(?!>>).*$/gm, ''))
  const isAboutMail = !own.has('notMail') || own.has('ofMail') || own.has('ofReader')
  return saysNotDelivered(own) && (quotes || isAboutMail)
}

/**
 * True if mail from a system to a bounce address is really a bounce. False for automatic replies, and for notices to a list's moderators.
 * @param forwardPath of the recipient whose bounce address it is
 */
export function isProvenNotice(message: ReturnedMessage, forwardPath: string, text: string): boolean {
  const { phrases } = message.vocabulary
  const said = phrases.saidIn(text)
  const tellsOfFailure = saysNotDelivered(said) || refusal.test(text) || quotedReply.test(text)
  const isOfReport = phrases.says(message.field('subject'), 'reportSubject', 'refusalSubject')
  const isReply = /^auto-replied/i.test(message.field('auto-submitted'))
  if (isFromMailSystem(message)) return !isReply || tellsOfFailure || isOfReport || returnsMessage(message)
  if (isReply || said.has('held')) return tellsOfFailure && returnsMessage(message)
  if (returnsMessage(message)) return true
  if (reportedAddress(message.field('from'))?.toLowerCase() === forwardPath.toLowerCase()) return tellsOfFailure
  return isFromReportingSystem(message) || tellsOfFailure || isOfReport
}

/** True if the mail has no author, or comes from a program that handles mail. */
const isFromReportingSystem = (message: ReturnedMessage): boolean =>
  /^(?:<>)?$/.test(message.field('from')) || message.says(senderOf(message), 'reportingSystem')

const returnsMessage = (message: ReturnedMessage): boolean => message.part(/^(?:message\/|text\/rfc822)/) !== undefined
