import { senderOf } from './automatic-reply.ts'
import {
  answerSubject,
  conversation,
  listFields,
  quotedReply,
  refusal,
  returnsMessage,
  saysNotDelivered,
  withoutQuotes,
} from './bounce-notice.ts'
import { reportedAddress } from './reported-address.ts'
import type { ReturnedMessage } from './returned-message.ts'
import { senderKind, type SenderKind } from './sender-kind.ts'

/** Not the question mark of a URL. */
const question = /\p{L}["”»']?\s?[?？](?:\s|$)/u

/** What in a message speaks for a mail system's report, and what against. */
interface Signs {
  /** The subject is one of reports. */
  isTitled: boolean
  /** The subject is of mail that failed, in whatever words. */
  isFramed: boolean
  /** It says that mail did not arrive. */
  tells: boolean
  /** It quotes a code. */
  quotes: boolean
  /** It names the recipient. */
  names: boolean
  /** It brings a message, or a status. */
  returns: boolean
  isReply: boolean
  isAnswer: boolean
  isInConversation: boolean
  /** It greets, thanks, or answers. */
  isPersonal: boolean
  asks: boolean
  /** It is for the owner of a mailbox, or for an operator. */
  isForReader: boolean
}

function signsOf(message: ReturnedMessage, forwardPath: string, text: string): Signs {
  const { phrases } = message.vocabulary
  const own = withoutQuotes(text)
  const said = phrases.saidIn(own)
  const subject = message.field('subject').slice(0, 300)
  const quotes = refusal.test(own) || quotedReply.test(own)
  const returns = returnsMessage(message)
  return {
    isTitled: phrases.says(subject, 'reportSubject'),
    isFramed: phrases.says(subject, 'reportSubject', 'refusalSubject', 'notDelivered', 'later'),
    tells: saysNotDelivered(said) || quotes,
    quotes,
    names: own.toLowerCase().includes(forwardPath.toLowerCase()),
    returns,
    isReply: /^auto-replied/i.test(message.field('auto-submitted')),
    isAnswer: answerSubject.test(subject),
    isInConversation: message.has(...conversation),
    isPersonal: said.has('personal'),
    asks: question.test(own),
    isForReader: !returns && (phrases.says(subject, 'readerSubject') || (!quotes && said.has('toReader') && !said.has('ofReader'))),
  }
}

/**
 * True if mail to a recipient's bounce address is a mail system's report. The address proves whom it is about, not what it is: people and desks
 * answer with a null reverse-path, too, and write about mail that failed. So words alone prove nothing. It takes a mail system as the sender, or
 * a subject of reports, a quoted reply or a returned message from a sender that is no person's.
 * @param forwardPath of the recipient whose bounce address it is
 */
export function isProvenNotice(message: ReturnedMessage, forwardPath: string, text: string): boolean {
  const kind = senderKind(message)
  const signs = signsOf(message, forwardPath, text)
  if (signs.isForReader) return false
  if (kind === 'daemon') return !signs.isReply || signs.tells || signs.isFramed || signs.returns
  if (message.says(message.field('subject').slice(0, 300), 'systemSubject')) return signs.tells && !signs.isInConversation
  if (isOfAnotherKind(message, text)) return false
  if (kind === 'postmaster' || kind === 'program') return isOfMailProgram(signs, kind === 'program')
  const isOwn = reportedAddress(message.field('from'))?.toLowerCase() === forwardPath.toLowerCase()
  return !isOwn && isOfStranger(signs, kind)
}

/** A bare address must show more than a machine, and nothing may speak against either. */
function isOfStranger({ isReply, isAnswer, isInConversation, isPersonal, asks, ...shown }: Signs, kind: SenderKind): boolean {
  const isByPeople = kind === 'person' || kind === 'desk'
  if (isByPeople || isReply || isAnswer || isInConversation || isPersonal || asks) return false
  const { names, quotes, tells, isFramed, returns } = shown
  if (kind === 'machine') return returns || (names && (quotes || (tells && isFramed)))
  return returns || (names && quotes && isFramed)
}

/** @param isProgram false for a postmaster, who may be a person */
function isOfMailProgram(signs: Signs, isProgram: boolean): boolean {
  const { isTitled, isFramed, tells, quotes, names, returns } = signs
  // Some programs answer as people do, but quote the refusal.
  if (signs.isAnswer) return tells && names && (returns || (quotes && isProgram && !signs.isInConversation))
  if (signs.isReply) return tells && (returns || isFramed)
  if (signs.isPersonal) return returns || (isFramed && tells && names)
  return isTitled || returns || (isFramed ? tells || names : quotes && names)
}

/** The subject of the original, which may be of an order. */
const subjectLine = /^\W{0,12}(?:subject|betreff|objet|asunto|oggetto|assunto|onderwerp|temat|тема|件名|主题|主旨)[ \t]{0,8}[:：=].*$/gimu

/** Mail of lists and monitors, mail that is held for a moderator, and what speaks of parcels or payments. */
function isOfAnotherKind(message: ReturnedMessage, text: string): boolean {
  const own = message.vocabulary.phrases.saidIn(withoutQuotes(text).replace(subjectLine, ''))
  if (message.has(...listFields) || message.says(senderOf(message), 'otherProgram')) return true
  if (message.says(`${message.field('user-agent')} ${message.field('x-mailer')}`, 'mailProgram')) return true
  if (own.has('held')) return !saysNotDelivered(own) || !returnsMessage(message)
  return own.has('notMail') && !own.has('ofMail') && !own.has('ofReader') && !returnsMessage(message)
}
