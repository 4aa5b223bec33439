import type { SaidWords } from '../bounce/said-phrases.ts'
import { isAutomatic, isFromMailSystem } from './automatic-reply.ts'
import { isAboutOtherThings, reportWords, says, saysNotDelivered, senderWords, speaksToReader } from './bounce-words.ts'
import { reportedAddress } from './reported-address.ts'
import { headerValue } from './returned-message.ts'
import type { ReturnedMessage } from './returned-message.ts'

/** Is the same in every language. */
const refusal = /(?<![\d.])[45]\d\d[ -][45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/
/** A reply that a report quotes, at the beginning of a line or behind what introduces it. */
const quotedReply = /(?:^|[:<>("'])[ \t]{0,8}[45][0-5]\d[ -]/m
const answerSubject = /^\s*(?:re|fwd?|aw|tr|rv|sv|antw|wg)\s*:/i
/** Lines that somebody quotes, and the subject of a message, say nothing of their own; `>>>` begins a command. */
const quotedWords = new RegExp(
  [
    '^ ?>(?!>>).*$|"[^"\\n]{1,200}"',
    String.raw`^.{0,8}?\b(?:subject|betreff|objet|asunto|oggetto|assunto|onderwerp|temat)\b.*$|^.{0,8}?(?:тема|主题|主旨|件名|제목).*$`,
  ].join('|'),
  'gim',
)
/** XMail reports in the name of its operator, who may be called root. */
const markOfXMail = /^\[<00>\] XMail bounce: /m
/** What people write to each other about bounces, and what lists send out. */
const conversation = ['in-reply-to', 'references']
const listFields = ['list-id', 'list-unsubscribe', 'list-post', 'mailing-list', 'x-mailing-list', 'feedback-id', 'x-campaign', 'x-campaignid']

/**
 * True where a message without a delivery status calls itself the report of a mail system, by its sender and its subject,
 * and its own words say that mail did not arrive. The words alone do not count: people and lists write about bounces too.
 */
export function isBounceNotice(message: ReturnedMessage, text: string, words: SaidWords = reportWords(text)): boolean {
  const has = (names: string[]): boolean => message.headers.some(({ name }) => names.includes(name))
  if (has(['x-failed-recipients']) || markOfXMail.test(text)) return true
  if (isForReader(message, text, words)) return false
  const subject = headerValue(message, 'subject').slice(0, 300)
  const sender = senderWords(headerValue(message, 'from'))
  const hasNull = hasNullReversePath(message)
  if (!hasNull && !isAutomatic(message) && (isWrittenByHand(message) || (answerSubject.test(subject) && has(conversation)))) return false
  const isAboutDelivery = says(subject, 'reportSubject', 'refusalSubject', 'notDelivered', 'later')
  if (hasNull && returnsMessage(message)) return true
  if (isFromMailSystem(message)) return isAboutDelivery || saysNotDelivered(words) || refusal.test(text)
  if (has(listFields)) return false
  if (says(sender, 'otherProgram')) return false
  const isFromSystem = isUnsigned(message) || says(sender, 'reportingSystem') || hasNull
  if (isFromSystem) return isAboutDelivery || refusal.test(text)
  if (!isAboutDelivery || answerSubject.test(subject) || has(conversation)) return false
  const own = reportWords(withoutQuotes(text))
  return saysNotDelivered(own) && !isAboutOtherThings(own)
}

/** True where a person's mail program wrote the message; what it says of delivery is a conversation. */
const isWrittenByHand = (message: ReturnedMessage): boolean =>
  says(`${headerValue(message, 'user-agent')} ${headerValue(message, 'x-mailer')}`, 'mailProgram')

const withoutQuotes = (text: string): string => text.replace(quotedWords, '')

/**
 * What a mail system tells the owner of a mailbox or its operator: that the mailbox is nearly full, that mail to it had a
 * virus; and what a list or group holds for its moderators. It quotes no refusal and returns no message; where the one or the
 * other is there, somebody's words are quoted.
 */
function isForReader(message: ReturnedMessage, text: string, words: SaidWords): boolean {
  const returns = returnsMessage(message)
  if (!returns && says(headerValue(message, 'subject'), 'readerSubject')) return true
  return !returns && !refusal.test(text) && !quotedReply.test(text) && (speaksToReader(words) || says(words, 'held'))
}

/**
 * True where mail that a system sent to the address for bounces is the report that its token makes it. What a person's mailbox
 * answers by itself is none, nor what a list holds for its moderators.
 * @param forwardPath of the recipient whose bounce it would be
 */
export function isProvenNotice(message: ReturnedMessage, forwardPath: string, text: string, words: SaidWords): boolean {
  if (isFromMailSystem(message) || returnsMessage(message)) return true
  if (/^auto-replied/i.test(headerValue(message, 'auto-submitted')) || says(words, 'held')) return false
  const tellsOfFailure = saysNotDelivered(words) || refusal.test(text) || quotedReply.test(text)
  if (reportedAddress(headerValue(message, 'from'))?.toLowerCase() === forwardPath.toLowerCase()) return tellsOfFailure
  const isFromSystem = isUnsigned(message) || says(senderWords(headerValue(message, 'from')), 'reportingSystem')
  return isFromSystem || tellsOfFailure || says(headerValue(message, 'subject'), 'reportSubject', 'refusalSubject')
}

const isUnsigned = (message: ReturnedMessage): boolean => /^(?:<>)?$/.test(headerValue(message, 'from').trim())

const returnsMessage = ({ parts }: ReturnedMessage): boolean => parts.some(({ contentType }) => /^(?:message\/|text\/rfc822)/.test(contentType))

const hasNullReversePath = (message: ReturnedMessage): boolean => /^<\s*>/.test(headerValue(message, 'return-path'))
