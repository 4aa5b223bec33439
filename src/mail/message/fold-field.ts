import { maxLineLength } from './transfer-encoding.ts'

/** Lines should not be longer than this (RFC 5322 2.1.1). */
export const lineLength = 78

/** Behind which characters a field's grammar lets us add white space, outside quotation marks, comments and angle brackets. */
const separators: [name: RegExp, after: string][] = [
  [/^(?:resent-)?(?:from|sender|to|cc|bcc|reply-to)$|^(?:disposition-notification|errors|return-receipt)-to$/i, ',;:'],
  [/^(?:list-[a-z-]+|keywords)$/i, ','],
  [/^(?:references|in-reply-to)$/i, '>'],
  [/^(?:content-(?:type|disposition)|received|authentication-results)$/i, ';'],
]

const separatorsIn = (name: string): string => separators.find(([fields]) => fields.test(name))?.[1] ?? ''

/** The parts of a field between which it may be folded; those without white space before them can be given some. */
function* partsOf(text: string, after: string): Generator<string, void, undefined> {
  let start = 0
  let isQuoted = false
  let depth = 0
  let isAngle = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string
    const isBlank = character === ' ' || character === '\t'
    const before = text[i - 1] ?? ''
    const isAfterBlank = before === ' ' || before === '\t'
    const isSeparated = !isQuoted && depth === 0 && !isAngle && before !== '' && after.includes(before)
    if (i > start && ((isBlank && !isAfterBlank) || (isSeparated && !isBlank))) {
      yield text.slice(start, i)
      start = i
    }
    if (character === '\\' && (isQuoted || depth > 0)) i++
    else if (character === '"' && depth === 0) isQuoted = !isQuoted
    else if (!isQuoted && character === '(') depth++
    else if (!isQuoted && character === ')' && depth > 0) depth--
    else if (!isQuoted && depth === 0 && (character === '<' || character === '>')) isAngle = character === '<'
  }
  yield text.slice(start)
}

/**
 * A field folded at 78 characters, without its final CRLF; null if a part of it is longer than hosts accept. Unfolding gives the same text
 * again, with a space behind separators that had none. `value` is unfolded, without blanks around it; `after`: where a space may be added.
 */
export function foldField(name: string, value: string, after = separatorsIn(name)): string | null {
  const first = `${name}: `
  if (first.length + value.length <= lineLength) return first + value
  const lines: string[] = []
  let line = first
  let isEmpty = true
  for (const part of after === '' ? (value.match(/[ \t]*[^ \t]+/g) ?? []) : partsOf(value, after)) {
    // The first part stays on the line of the name, unless hosts would not accept it there.
    if (line.length + part.length > (isEmpty ? maxLineLength : lineLength)) {
      lines.push(isEmpty ? `${name}:` : line)
      line = /^[ \t]/.test(part) ? part : ` ${part}`
    } else {
      line += part
    }
    isEmpty = false
  }
  lines.push(line)
  return lines.some(({ length }) => length > maxLineLength) ? null : lines.join('\r\n')
}

/** Why a field cannot be sent. */
export const unfoldable = (name: string): string =>
  `The ${name} field has a part that does not fit into a line of ${maxLineLength} characters (RFC 5322 2.1.1). Shorten it, or put spaces into it.`
