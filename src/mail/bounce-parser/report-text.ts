import { wordsOf } from './reply-words.ts'
import type { ReportPhrases } from './report-phrases.ts'
import type { ReturnedMessage } from './returned-message.ts'
import { withRefusedDialogue } from './smtp-transcript.ts'

/** UTF-16 units read of a bounce's own text. */
const maxReportLength = 32 * 1024
const maxLines = 600
const maxFooterLength = 300

const messageTypes = /^(?:message\/|text\/(?:rfc822|x-?message|global))/
/** A separator: `--- Below this line is a copy of the message.` */
const rule = /^\W{0,120}?(?:--|==|\*\*\*)/
const headerLine = /^[> ]{0,3}[A-Za-z][A-Za-z0-9-]{1,60}:(?:\s|$)/
/** Messages usually begin with one of these fields, and a bounce's own text seldom does. Some bounces quote only the other fields. */
const firstHeaderLine =
  /^[> ]{0,3}(?:Return-Path|Received|Message-ID|DKIM-Signature|Delivered-To|X-Received|MIME-Version|X-Originating-IP): /i
const laterHeaderLine = /^(?:From|To|Date|Subject|Reply-To|Sender): /i

/** The lines of a bounce's own text, without the original; trailing white space removed. */
export function reportLines({ parts, vocabulary: { phrases } }: ReturnedMessage): string[] {
  const end = parts.findIndex(({ contentType }) => messageTypes.test(contentType))
  const own = end < 0 ? parts : parts.slice(0, end)
  const plain = own.filter(({ contentType, content }) => contentType === 'text/plain' && content.trim() !== '')
  const texts = plain.length > 0 ? plain : own.filter(({ contentType }) => contentType === 'text/html')
  const text = texts
    .slice(0, 4)
    .map(({ content }) => content)
    .join('\n\n')
  const lines = text
    .slice(0, maxReportLength)
    .split('\n', maxLines)
    .map((line) => line.slice(0, 2000).trimEnd())
  const from = lines.findIndex((line) => line.trim() !== '')
  const start = lines.findIndex((_, index) => index > from && isStartOfOriginal(lines, index, phrases))
  return withRefusedDialogue((start < 0 ? lines : lines.slice(0, start)).filter((line) => !isFooter(line, phrases)))
}

/** True for what a scanner adds to all mail. It says no word about delivery. */
function isFooter(line: string, phrases: ReportPhrases): boolean {
  if (line.length > maxFooterLength) return false
  const said = phrases.saidIn(line)
  return said.has('footer') && !said.has('notDelivered') && !/@|\b[45]\d\d\b/.test(line)
}

function isStartOfOriginal(lines: string[], index: number, phrases: ReportPhrases): boolean {
  const line = lines[index] ?? ''
  if (/\b(?:transcript|smtp (?:session|dialog)|begin of report)\b/i.test(line)) return false
  if (isHeader(lines, index)) return true
  return line.length <= 160 && !line.includes('@') && introducesOriginal(line, phrases)
}

/** True between separators, and for a short line that is a heading or says that the message follows, but not that it failed. */
function introducesOriginal(line: string, phrases: ReportPhrases): boolean {
  const said = phrases.saidIn(line)
  if (!said.has('original')) return false
  const count = wordsOf(line).length
  if (rule.test(line) || (count <= 8 && said.has('follows'))) return true
  return (count <= 3 || (count <= 8 && /[:：]\W*$/.test(line))) && !said.has('notDelivered')
}

/** Two fields in a row, perhaps with a folded line between; or a paragraph with fields that bounces do not quote. */
function isHeader(lines: string[], index: number): boolean {
  const rest = lines.slice(index + 1, index + 30)
  if (firstHeaderLine.test(lines[index] ?? '')) return headerLine.test(rest.find((line) => !/^[> ]{0,2}[ \t]/.test(line)) ?? '')
  if (lines[index - 1] !== '' || !laterHeaderLine.test(lines[index] ?? '')) return false
  return rest.slice(0, rest.concat('').indexOf('')).some((line) => firstHeaderLine.test(line))
}
