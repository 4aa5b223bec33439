import { hasNullReversePath, isAutomatic, isFromMailSystem, senderOf } from './automatic-reply.ts'
import { reportedAddress } from './reported-address.ts'
import type { Said } from './report-phrases.ts'
import type { ReturnedMessage } from './returned-message.ts'

/** Is the same in every language. */
const refusal = /(?<![\d.])[45]\d\d[ -][45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/
/** A reply that a report quotes, at the beginning of a line or behind what introduces it. */
const quotedReply = /(?:^|[:<>("'])[ \t]{0,8}[45][0-5]\d[ -]/m
const answerSubject = /^\s*(?:re|fwd?|aw|tr|rv|sv|antw|wg)\s*:/i
/** What people write to each other about bounces, and what lists send out. */
const conversation = ['in-reply-to', 'references']
const listFields = 'list-id list-unsubscribe list-post mailing-list x-mailing-list feedback-id x-campaign x-campaignid'.split(' ')

const saysNotDelivered = (said: Said): boolean => said.has('notDelivered') || said.has('later')

/**
 * True where a message without a delivery status calls itself the report of a mail system, by its sender and its subject,
 * and its own words say that mail did not arrive. The words alone do not count: people and lists write about bounces too.
 */
export function isBounceNotice(message: ReturnedMessage, text: string): boolean {
  if (message.has('x-failed-recipients')) return true
  const { phrases } = message.vocabulary
  const said = phrases.saidIn(text)
  const subject = message.field('subject').slice(0, 300)
  const returns = returnsMessage(message)
  const quotes = refusal.test(text) || quotedReply.test(text)
  // What tells the owner of a mailbox, or an operator, quotes no refusal and returns no message.
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
  // Parcels, payments and the like fail to be delivered too.
  const own = phrases.saidIn(text.replace(/^ ?>(?!>>).*$/gm, ''))
  const isAboutMail = !own.has('notMail') || own.has('ofMail') || own.has('ofReader')
  return saysNotDelivered(own) && (quotes || isAboutMail)
}

/**
 * True where mail that a system sent to the address for bounces is the report that its token makes it. What a person's mailbox
 * answers by itself is none, nor what a list holds for its moderators.
 * @param forwardPath of the recipient whose bounce it would be
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

/** True for mail without an author, and for that of programs which handle mail. */
const isFromReportingSystem = (message: ReturnedMessage): boolean =>
  /^(?:<>)?$/.test(message.field('from')) || message.says(senderOf(message), 'reportingSystem')

const returnsMessage = (message: ReturnedMessage): boolean => message.part(/^(?:message\/|text\/rfc822)/) !== undefined
