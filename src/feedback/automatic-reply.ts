import { headerValue } from './returned-message.ts'
import type { ReturnedMessage } from './returned-message.ts'

/** Fields that only programs which answer for a person or open a ticket write, whatever they hold. */
const replyFields = (
  'x-autoreply x-autoreply-from x-autorespond x-autoresponder x-auto-reply x-mail-autoreply x-vacation x-ms-exchange-inbox-rules-loop ' +
  'x-rt-loop-prevention x-rt-ticket x-otrs-loop x-jira-fingerprint x-zendesk-email-id x-freshdesk-ticket x-helpscout-event-type'
).split(' ')

/** What subjects of automatic replies begin with or consist of, in the languages of the programs that write them. */
const replySubject = new RegExp(
  [
    String.raw`^\W*(?:auto(?:matic|mated)?|automatisk|automaattinen)[ -]?(?:re(?:ply|sponse|sponder)|svar|vastaus|answer)\b`,
    String.raw`^\W*automati(?:sche?|c|que|ca|ska|sk|skt|scher)\b.{0,12}\b(?:antwort|antwoord|r.ponse|risposta|respuesta|resposta|svar|odpov)`,
    String.raw`^\W*(?:autoreply|auto:|autosvar|autoantwort|r.ponse automatique|respuesta autom.tica|resposta autom.tica|risposta automatica|abwesenheits)`,
    String.raw`^\W*(?:automatyczna odpowied|automatick. odpov|automatikus v.lasz|otomatik yan.t|r.spuns automat|samodejni odgovor)`,
    String.raw`^\W*(?:автоматический ответ|автоответ|αυτόματη απάντηση|자동 ?회신|자동 응답|自動(?:応答|返信|回覆|回复)|自动(?:答复|回复)|رد تلقائي|תשובה אוטומטית)`,
    String.raw`\bout of (?:the )?office\b|\bon (?:(?:maternity|paternity|parental|sick|annual) )?(?:vacation|holiday|leave)\b|\b(?:maternity|paternity|parental|sick|annual) leave\b|\bvacation (?:reply|message|notice)\b|^away (?:from|until)\b|\bnot in the office\b`,
    String.raw`\babwesen(?:d|heit)|\bnicht im (?:haus|b.ro)\b|\bim urlaub\b|\babsen(?:ce|t) d(?:u|e)\b|\ben cong.s\b|\bfuera de (?:la )?oficina\b|\bfuori (?:sede|ufficio)\b`,
    String.raw`\bafwezig(?:heid)?\b|\bniet op kantoor\b|\bfrav.r\b|\bpoissa\b|\bpoza biurem\b|\bmimo kancel|\bfora do escrit.rio\b|\bвне офиса\b|不在(?:通知|届)`,
  ].join('|'),
  'iu',
)

/** Challenges: the sender is asked to prove that a person wrote. */
const challengeSubject = new RegExp(
  [
    String.raw`\bplease (?:confirm|verify) (?:your|the|that|delivery|this|you)\b|\bconfirm(?:ation)? (?:of )?(?:delivery|your (?:e-?mail|message))\b`,
    String.raw`\b(?:verification|confirmation|authorization|authentication) (?:is )?(?:required|requested|needed|request)\b`,
    String.raw`\byour (?:e-?mail|message) .{0,60}\brequires (?:verification|confirmation|your)\b|\bchallenge[- ]response\b|\bboxbe\b|\bspam ?arrest\b`,
  ].join('|'),
  'iu',
)
const challengeFields = ['x-tmda-confirm-done', 'x-tmda-fingerprint', 'x-tmda-released', 'x-spamarrest', 'x-boxbe', 'x-challenge', 'x-bluebottle-request']

const systemSender = /(?:^|[<"\s])(?:mailer[-_ ]?daemon|postmaster|mail[-_ ]?(?:delivery|system)|delivery[-_ ]?(?:subsystem|system|notification)|uucp@)|^"?mimedefang"?\s*</i

/** A report of a mail system, whose subject may quote that of the message. */
const reportSubject = /\b(?:undeliver|non-?deliver|returned mail|mail delivery|delivery (?:status|failure|report)|failure notice|unzustellbar)/i

const hasField = (message: ReturnedMessage, names: readonly string[]): boolean => message.headers.some(({ name }) => names.includes(name))

/** True where the message names itself the word of a mail system, not of somebody's mailbox. */
export const isFromMailSystem = (message: ReturnedMessage): boolean =>
  systemSender.test(headerValue(message, 'from')) || hasField(message, ['x-failed-recipients'])

/**
 * True where a message can be nothing but an answer made for a person: a vacation notice, or a challenge to confirm that a
 * person wrote. What such a mail quotes is no word about a delivery. Reports of mail systems are never taken for one.
 */
export function isPersonalReply(message: ReturnedMessage): boolean {
  if (isFromMailSystem(message)) return false
  if (hasField(message, replyFields)) return true
  const subject = headerValue(message, 'subject').slice(0, 500)
  if (reportSubject.test(subject)) return false
  if (replySubject.test(subject) || challengeSubject.test(subject)) return true
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
