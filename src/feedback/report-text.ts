import { textFromHtml } from '../message/text-from-html.ts'
import type { ReturnedMessage } from './returned-message.ts'
import { withRefusedDialogue } from './smtp-transcript.ts'

/** UTF-16 units of a report's own words that are read. */
const longestReport = 32 * 1024
const mostLines = 600

const messageTypes = /^(?:message\/|text\/(?:rfc822|x-?message|global))/
/** Lines behind which the message stands that came back, in the words of those who write them. */
const mail = '(?:e-?mail |mail )?(?:message|mail|e-?mail|headers?|text)'
const follows = '(?:follows?|below|attached|included|is (?:below|attached|included|following))'
const anyOf = (pieces: string[]): string => `(?:${pieces.join('|')})`
const markers = [
  // Between rules.
  String.raw`(?=\W{0,120}?(?:--|==|\*\*\*))\W{2,120}` +
    '(?:this is |here is |included is |below is |above is )?(?:an? |the |your )?(?:full |complete |partial )?' +
    anyOf([
      'copy|original|returned|unsent|(?:undelivered|undeliverable|failed|bounced|rejected) (?:message|mail|e-?mail)',
      'message (?:text|content|header|body|follows)|text of (?:your|the)|header|body of|content|below this line',
      'forwarded message|start of|begin',
      'ursprüngliche|originalnachricht|kopie (?:der|ihrer)|nachrichten?kopf|kopfzeilen|en-?têtes?|message (?:original|d.origine|renvoyé)|copie d',
      'mensaje (?:original|devuelto)|encabezados|cabeceras|copia d|messaggio originale|intestazion|mensagem (?:original|devolvida)|cabeçalhos?',
      'oorspronkelijk|berichtkop|kop(?:ie|teksten)|исходн|оригинал|заголовк|копия|nagłówki|oryginaln|treść (?:oryginal|wiadomo)|kopia',
      'originalmeddelande|oprindelig|opprinnelig|původní|eredeti|özgün|orijinal|原始|原邮件|原郵件|以下(?:是|は)|元の|原文|受信した|원본|원문',
    ]) +
    '.{0,80}',
  // On a line of their own.
  String.raw`\W*(?:the |your )?original ${mail}(?: headers?| text)?(?: ${follows}.{0,40})?\W*`,
  String.raw`\W*(?:the |your )?(?:returned|unsent|undelivered|undeliverable|failed|received|bounced|offending|rejected) ${mail}` +
    `(?: text| headers?| body| content)? ${follows}.{0,40}`,
  String.raw`\W*(?:message|mail|e-?mail)?\s?(?:headers?|text|contents?|body|source)(?: of (?:the|your) .{0,30})? (?:follows?|below|is|are)(?: .{0,30})?\W*`,
  String.raw`\W*` +
    anyOf([
      'below this line is|(?:this|here|included|below|following|the following) is (?:a|the) (?:copy|header|text|original|beginning)',
      'a copy of (?:the|your)|your (?:original )?message (?:follows|is (?:attached|included|below|returned))',
      String.raw`the (?:first|header|text|body|content|message headers?|original message|headers?).{0,40} (?:follows?|below|are|is)\b`,
    ]) +
    '.{0,80}',
  String.raw`\W*` +
    anyOf([
      "ursprüngliche (?:nachricht|mail)|originalnachricht|message d'origine|message original|en-?têtes? (?:du message|d'origine)",
      'mensaje original|messaggio originale|mensagem original|oorspronkelijk bericht|исходное (?:сообщение|письмо)',
      'oryginalna wiadomość|原始邮件|原始郵件|元のメッセージ|原メッセージ|転送|오리지널',
    ]) +
    '.{0,60}',
].map((pattern) => new RegExp(`^${pattern}$`, 'i'))
const fieldNames = [
  'Return-Path|Received|Message-ID|DKIM-Signature|MIME-Version|Date|From|To|Subject|Content-Type|X-[A-Za-z0-9-]{1,60}',
  'Delivered-To|Reply-To|Sender',
]
const headerLine = new RegExp(String.raw`^[> ]{0,3}(?:${fieldNames.join('|')}):(?:\s|$)`, 'i')
/** A message seldom begins with another field than these, and the words of a report do so seldom. */
const firstHeaderLine = /^[> ]{0,3}(?:Return-Path|Received|Message-ID|DKIM-Signature|Delivered-To|X-Received|MIME-Version|X-Originating-IP): /i

const ofTranscript = /\b(?:transcript|smtp (?:session|dialog)|begin of report)\b/i

/** The lines of a report's own words, without the message that came back; trailing white space is left out. */
export function reportLines({ parts }: ReturnedMessage): string[] {
  const end = parts.findIndex(({ contentType }) => messageTypes.test(contentType))
  const own = end < 0 ? parts : parts.slice(0, end)
  const plain = own.filter(({ contentType, content }) => contentType === 'text/plain' && content.trim() !== '')
  const texts = plain.length > 0 ? plain : own.filter(({ contentType }) => contentType === 'text/html')
  const text = texts
    .slice(0, 4)
    .map(({ contentType, content }) => (contentType === 'text/html' ? textFromHtml(content) : content))
    .join('\n\n')
  const lines = text.slice(0, longestReport).split('\n', mostLines).map((line) => line.slice(0, 2000).trimEnd())
  const from = lines.findIndex((line) => line.trim() !== '')
  const start = lines.findIndex((_, index) => index > from && isStartOfOriginal(lines, index))
  return withRefusedDialogue(start < 0 ? lines : lines.slice(0, start))
}

function isStartOfOriginal(lines: string[], index: number): boolean {
  const line = lines[index] ?? ''
  if (ofTranscript.test(line)) return false
  if (isHeader(lines, index) || isQuotedHeader(lines, index)) return true
  return line.length <= 160 && !line.includes('@') && markers.some((marker) => marker.test(line))
}

/** Two fields in a row, the second perhaps after a folded line. */
function isHeader(lines: string[], index: number): boolean {
  if (!firstHeaderLine.test(lines[index] ?? '')) return false
  const next = lines.slice(index + 1, index + 12).find((line) => !/^[> ]{0,2}[ \t]/.test(line))
  return next !== undefined && headerLine.test(next)
}

/** A paragraph that begins as reports quote it too, but has fields that they do not. */
function isQuotedHeader(lines: string[], index: number): boolean {
  if (lines[index - 1] !== '' || !/^(?:From|To|Date|Subject|Reply-To|Sender): /.test(lines[index] ?? '')) return false
  const rest = lines.slice(index + 1, index + 30)
  const end = rest.indexOf('')
  return rest.slice(0, end < 0 ? rest.length : end).some((line) => /^(?:Message-ID|MIME-Version|Received|DKIM-Signature): /i.test(line))
}
