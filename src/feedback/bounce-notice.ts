import type { SaidWords } from '../bounce/said-phrases.ts'
import { isAutomatic, isFromMailSystem } from './automatic-reply.ts'
import { isAboutOtherThings, reportWords, saysHeld, saysNotDelivered, speaksToReader } from './bounce-words.ts'
import { reportedAddress } from './reported-address.ts'
import { headerValue } from './returned-message.ts'
import type { ReturnedMessage } from './returned-message.ts'

/** Senders of reports besides those that `isFromMailSystem` knows. */
const reportingSender = new RegExp(
  [
    'mail ?er[-_. ]?daemon|mail(?:er)? ?(?:delivery|administrator|system|service|server|gateway|transport)',
    'postm(?:aster|an)|post ?office|system ?administrator|systemadministrator|mdaemon|mmdf',
    String.raw`smtp(?:[-_. ]?(?:daemon|server|gateway))?@|\badministrator\b|delivery (?:notification|report|subsystem|status)`,
    'internet mail|exchange|domino|notes ?server|mail ?sweeper|interscan|imss|scan ?mail|groupwise|imail|mail ?enable',
    'merak|bounce|undeliver|<>|^$',
  ].join('|'),
  'i',
)

const reportingSubject = new RegExp(
  [
    'undeliver|not deliver|non[- ]?deliver|nondeliver|un-?delivered|returned? (?:mail|message|to sender|e-?mail)',
    '(?:mail|message|e-?mail) (?:returned|rejected|refused|bounced|undeliver)',
    'deliver(?:y|ed|ing)?.{0,40}(?:fail|error|problem|status|notif|report|delay|unsuccess|incomplete|warning|impossible)',
    '(?:fail|error|problem|unable|warning|could ?n.t|could not|cannot).{0,40}(?:deliver|send|sent|e-?mail|mail|message)',
    'fail(?:ure|ed)? (?:notice|notification|mail|message|delivery|to deliver)',
    String.raw`(?:mail|message|e-?mail|sending|transmission|smtp).{0,20}(?:fail|error|delayed|problem|bounce)|\bbounce`,
    'user unknown|unknown (?:user|recipient|address)|rejected|block(?:ed|ing)|virus|infected',
    String.raw`content (?:violation|filter)|\bNDN\b|\bNDR\b|\bDSN\b|mail system error|could not be (?:sent|delivered)`,
    'mailbox full|over quota|delayed mail|permanent (?:fatal )?error|unzustellbar|nicht zu(?:gestellt|stellbar)',
    'zustell(?:ung|fehler|bericht)|fehlgeschlagen|rückläufer|non remis|non[- ]distribu|échec|remise|erreur|impossible',
    'no se (?:puede|pudo|ha)|entrega|devuelto|devolvido|falha|não (?:foi )?entreg|mancat|mancata|impossibile|errore',
    'consegna|recapit|inoltrat|onbestelbaar|niet (?:bezorgd|afgeleverd)|mislukt|недостав|не доставлен|доставк|ошибка|возврат',
    'вирус|заблокирован|отклонен|відхилен|не доставл|wirus|odrzucon|zablokowan|abgelehnt|abgewiesen|zurückgewiesen|blockiert',
    'rejet|refus|bloqu|rechaz|rifiutat|bloccat|recusad|geweigerd|geblokkeerd|avvisad|afvist|vírus|病毒|拒收|拒绝|拒絕|ウイルス|拒否|차단|바이러스',
    'kunne ikke|lever(?:es|ing|eras)|ei voi|kézbesít|αποτυχία|παράδοσ|nelivr|nu a (?:putut|fost)|nepodař|nepodar|edileme|не вдалося|помилка',
    'nie (?:została|zostało|mogła|może|udało|mogło).{0,30}(?:dostarcz|doręcz|wysłan)',
    'pas (?:été|pu|être).{0,20}(?:remis|livré|délivré|distribué|envoyé|achemin)',
    'niedostarcz|nie dostarcz|zwrot|nedoru|olevererbart|kunde inte|leverans|toimitus|teslim|退信|退件|投递|投遞|送达|传递|傳遞|送信',
    'تعذر|تسليم|לא נמסר',
    '配信|配送|配達|エラー|不達|届|반송|전송|실패|오류|송신',
  ].join('|'),
  'i',
)
/** Is the same in every language. */
const refusal = /(?<![\d.])[45]\d\d[ -][45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/
/** A reply that a report quotes, at the beginning of a line or behind what introduces it. */
const quotedReply = /(?:^|[:<>("'])[ \t]{0,8}[45][0-5]\d[ -]/m
const answerSubject = /^\s*(?:re|fwd?|aw|tr|rv|sv|antw|wg)\s*:/i
/** Programs that tell of what they watch. */
const otherProgram = new RegExp(
  String.raw`\b(?:nagios|icinga|zabbix|prtg|sensu|grafana|prometheus|alertmanager|pagerduty|munin|monit|cron|anacron|logwatch|fail2ban` +
    String.raw`|backup|veeam|bacula|wordpress|jira|redmine|zendesk|otrs|jenkins|gitlab|github)\b|^root@|<root@`,
  'i',
)
/** What a system sums up for its operator, asks of him, or tells the owner of a mailbox. */
const readerSubject = new RegExp(
  String.raw`^\W*(?:\[[^\]]{1,40}\] ?)?(?:your |the )?(?:daily|weekly|monthly|nightly|hourly|tägliche[rs]?|wöchentliche[rs]?|monatliche[rs]?)` +
    String.raw`\b.{0,40}\b(?:report|statistics|stats|summary|overview|log|bericht|statistik)` +
    String.raw`|^Message (?:\S{10,30} )?frozen$|\bin mail TO YOU\b`,
  'i',
)
const mailProgram = new RegExp(
  'thunderbird|apple mail|iphone mail|ipad mail|microsoft outlook|evolution|kmail|roundcube|squirrelmail|horde|claws mail' +
    String.raw`|\bmutt\b|\bpine\b|eudora|the bat!|k-9 mail`,
  'i',
)
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
  const hasNull = hasNullReversePath(message)
  if (!hasNull && !isAutomatic(message) && (isWrittenByHand(message) || (answerSubject.test(subject) && has(conversation)))) return false
  const isAboutDelivery = reportingSubject.test(subject)
  if (isFromMailSystem(message)) return isAboutDelivery || saysNotDelivered(words) || refusal.test(text)
  if (has(listFields)) return false
  // Not by the names of hosts.
  if (otherProgram.test(headerValue(message, 'from').replace(/@[^>\s]*/g, '@'))) return false
  const isFromSystem = reportingSender.test(headerValue(message, 'from')) || hasNull
  if (isFromSystem) return isAboutDelivery || refusal.test(text)
  if (!isAboutDelivery || answerSubject.test(subject) || has(conversation)) return false
  const own = reportWords(withoutQuotes(text))
  return saysNotDelivered(own) && !isAboutOtherThings(own)
}

/** True where a person's mail program wrote the message; what it says of delivery is a conversation. */
const isWrittenByHand = (message: ReturnedMessage): boolean =>
  mailProgram.test(headerValue(message, 'user-agent')) || mailProgram.test(headerValue(message, 'x-mailer'))

const withoutQuotes = (text: string): string => text.replace(quotedWords, '')

/**
 * What a mail system tells the owner of a mailbox or its operator: that the mailbox is nearly full, that mail to it had a
 * virus; and what a list or group holds for its moderators. It quotes no refusal and returns no message; where the one or the
 * other is there, somebody's words are quoted.
 */
function isForReader(message: ReturnedMessage, text: string, words: SaidWords): boolean {
  const returns = returnsMessage(message)
  if (!returns && readerSubject.test(headerValue(message, 'subject'))) return true
  return !returns && !refusal.test(text) && !quotedReply.test(text) && (speaksToReader(words) || saysHeld(words))
}

/**
 * True where mail that a system sent to the address for bounces is not the report that its token makes it: what a person's
 * mailbox answers by itself, and what a list holds for its moderators.
 * @param forwardPath of the recipient whose bounce it would be
 */
export function isAnswer(message: ReturnedMessage, forwardPath: string, words: SaidWords): boolean {
  if (isFromMailSystem(message) || returnsMessage(message)) return false
  if (/^auto-replied/i.test(headerValue(message, 'auto-submitted')) || saysHeld(words)) return true
  const isOwn = reportedAddress(headerValue(message, 'from'))?.toLowerCase() === forwardPath.toLowerCase()
  return isOwn && !saysNotDelivered(words)
}

const returnsMessage = ({ parts }: ReturnedMessage): boolean => parts.some(({ contentType }) => /^(?:message\/|text\/rfc822)/.test(contentType))

const hasNullReversePath = (message: ReturnedMessage): boolean => /^<\s*>/.test(headerValue(message, 'return-path'))
