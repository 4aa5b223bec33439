import type { SaidWords } from './said-phrases.ts'
import { hasNullReversePath, isAutomatic, isFromMailSystem } from './automatic-reply.ts'
import { isAboutOtherThings, reportWords, says, saysNotDelivered, senderWords, speaksToReader } from './bounce-words.ts'
import { reportedAddress } from './reported-address.ts'
import { headerValue, type ReturnedMessage } from './returned-message.ts'

/** Is the same in every language. */
const refusal = /(?<![\d.])[45]\d\d[ -][45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/
/** A reply that a report quotes, at the beginning of a line or behind what introduces it. */
const quotedReply = /(?:^|[:<>("'])[ \t]{0,8}[45][0-5]\d[ -]/m
const answerSubject = /^\s*(?:re|fwd?|aw|tr|rv|sv|antw|wg)\s*:/i
/** What people write to each other about bounces, and what lists send out. */
const conversation = ['in-reply-to', 'references']
const listFields = [
  'list-id',
  'list-unsubscribe',
  'list-post',
  'mailing-list',
  'x-mailing-list',
  'feedback-id',
  'x-campaign',
  'x-campaignid',
]

/**
 * True where a message without a delivery status calls itself the report of a mail system, by its sender and its subject,
 * and its own words say that mail did not arrive. The words alone do not count: people and lists write about bounces too.
 */
export function isBounceNotice(message: ReturnedMessage, text: string, words: SaidWords = reportWords(text)): boolean {
  const has = (names: string[]): boolean => message.headers.some(({ name }) => names.includes(name))
  if (has(['x-failed-recipients'])) return true
  const subject = headerValue(message, 'subject').slice(0, 300)
  const returns = returnsMessage(message)
  const quotes = refusal.test(text) || quotedReply.test(text)
  // What tells the owner of a mailbox, or an operator, quotes no refusal and returns no message.
  if (!returns && (says(subject, 'readerSubject') || (!quotes && (speaksToReader(words) || says(words, 'held'))))) return false
  const hasNull = hasNullReversePath(message)
  const isAnswer = answerSubject.test(subject) && has(conversation)
  const mailer = `${headerValue(message, 'user-agent')} ${headerValue(message, 'x-mailer')}`
  if (!hasNull && !isAutomatic(message) && (isAnswer || says(mailer, 'mailProgram'))) return false
  const isAboutDelivery = says(subject, 'reportSubject', 'refusalSubject', 'notDelivered', 'later')
  if (hasNull && returns) return true
  if (isFromMailSystem(message)) return isAboutDelivery || saysNotDelivered(words) || refusal.test(text)
  const sender = senderWords(headerValue(message, 'from'))
  if (has(listFields) || says(sender, 'otherProgram')) return false
  if (hasNull || isUnsigned(message) || says(sender, 'reportingSystem')) return isAboutDelivery || refusal.test(text)
  if (!isAboutDelivery || answerSubject.test(subject) || has(conversation)) return false
  const own = reportWords(text.replace(/^ ?>(?!>>).*$/gm, ''))
  return saysNotDelivered(own) && (quotes || !isAboutOtherThings(own))
}

/**
 * True where mail that a system sent to the address for bounces is the report that its token makes it. What a person's mailbox
 * answers by itself is none, nor what a list holds for its moderators.
 * @param forwardPath of the recipient whose bounce it would be
 */
export function isProvenNotice(message: ReturnedMessage, forwardPath: string, text: string, words: SaidWords): boolean {
  const tellsOfFailure = saysNotDelivered(words) || refusal.test(text) || quotedReply.test(text)
  const isOfReport = says(headerValue(message, 'subject'), 'reportSubject', 'refusalSubject')
  const isReply = /^auto-replied/i.test(headerValue(message, 'auto-submitted'))
  if (isFromMailSystem(message)) return !isReply || tellsOfFailure || isOfReport || returnsMessage(message)
  if (isReply || says(words, 'held')) return tellsOfFailure && returnsMessage(message)
  if (returnsMessage(message)) return true
  if (reportedAddress(headerValue(message, 'from'))?.toLowerCase() === forwardPath.toLowerCase()) return tellsOfFailure
  const isFromSystem = isUnsigned(message) || says(senderWords(headerValue(message, 'from')), 'reportingSystem')
  return isFromSystem || tellsOfFailure || isOfReport
}

const isUnsigned = (message: ReturnedMessage): boolean => /^(?:<>)?$/.test(headerValue(message, 'from').trim())

const returnsMessage = ({ parts }: ReturnedMessage): boolean =>
  parts.some(({ contentType }) => /^(?:message\/|text\/rfc822)/.test(contentType))
