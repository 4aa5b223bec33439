import type { Mailbox } from '../smtp/address.ts'
import { encodeHeaderText } from '../smtp/encoded-word.ts'
import { longestLine } from './transfer-encoding.ts'

const plainText = /^[\x20-\x7e]*$/
const phraseOfAtoms = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/

/** Lines should not be longer than this (RFC 5322 2.1.1). */
const lineLength = 78

/** Folds at spaces so that unfolding gives the same text again. */
function fold(name: string, value: string): string {
  const first = `${name}: `
  if (first.length + value.length <= lineLength) return first + value
  const lines: string[] = []
  let line = first
  // A run of spaces goes to the start of the next line: a line of nothing but spaces is not allowed.
  for (const [piece] of value.matchAll(/ *[^ ]+/g)) {
    const isFirstWord = lines.length === 0 && line.length === first.length
    const breaks = isFirstWord ? line.length + piece.length > longestLine : line.length + piece.length > lineLength
    if (breaks) {
      lines.push(line.trimEnd())
      line = isFirstWord ? ` ${piece}` : piece
    } else {
      line += piece
    }
  }
  return [...lines, line].join('\r\n')
}

/** A header line, folded before white space if it is longer than hosts accept (RFC 5322 2.1.1, 2.2.3). Words stay whole. */
export function foldLong(line: string): string {
  const lines: string[] = []
  const isBlank = (at: number): boolean => line[at] === ' ' || line[at] === '\t'
  const canBreak = (at: number): boolean => isBlank(at) && !isBlank(at - 1)
  // A line of only white space is not allowed.
  const end = line.trimEnd().length
  let start = 0
  while (end - start > longestLine) {
    let at = start + longestLine
    while (at > start && !canBreak(at)) at--
    if (at === start) for (at += longestLine; at < end && !canBreak(at);) at++
    if (at >= end) break
    lines.push(line.slice(start, at))
    start = at
  }
  return [...lines, line.slice(start)].join('\r\n')
}

/** Whether text must be hidden in encoded words so that a reader gets back exactly this text. */
function needsEncoding(text: string): boolean {
  return !plainText.test(text) || text.includes('=?') || text.startsWith(' ') || text.endsWith(' ') || /[^ ]{900}/.test(text)
}

/** A field of free text (Subject), folded, without its final CRLF; the text reads back exactly as given (RFC 2047). */
export function formatTextField(name: string, text: string): string {
  if (!needsEncoding(text)) return fold(name, text)
  return `${name}: ${encodeHeaderText(text, name.length + 2)}`
}

/** A field whose ASCII value has a grammar of its own, which encoded words would break; other text is encoded. */
export function formatCustomField(name: string, value: string): string {
  const text = value.trim()
  return plainText.test(text) ? fold(name, text) : formatTextField(name, text)
}

function formatName(name: string, column: number): string {
  if (name.length > 60 || needsEncoding(name)) return encodeHeaderText(name, column)
  return phraseOfAtoms.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`
}

/** An address field (RFC 5322 3.4), folded after commas; a non-ASCII local part stays UTF-8 (RFC 6532). */
export function formatMailboxes(name: string, mailboxes: readonly Mailbox[]): string {
  let text = `${name}:`
  let column = text.length
  mailboxes.forEach((mailbox, i) => {
    const end = i + 1 < mailboxes.length ? ',' : ''
    const asciiSize = (mailbox.name?.length ?? 0) + mailbox.address.length + 6
    if (i > 0 && column + asciiSize > lineLength) {
      text += '\r\n'
      column = 0
    }
    const phrase = mailbox.name === null || mailbox.name === '' ? null : formatName(mailbox.name, column + 1)
    const lastLine = phrase === null ? '' : phrase.slice(phrase.lastIndexOf('\n') + 1)
    const isFolded = phrase !== null && lastLine.length < phrase.length
    const needsBreak = phrase !== null && (isFolded ? 0 : column) + lastLine.length + mailbox.address.length + 5 > lineLength
    const prefix = phrase === null ? '' : `${phrase}${needsBreak ? '\r\n' : ''} `
    const written = ` ${prefix}${phrase === null ? mailbox.address : `<${mailbox.address}>`}${end}`
    text += written
    const lastBreak = written.lastIndexOf('\n')
    column = lastBreak < 0 ? column + written.length : written.length - lastBreak - 1
  })
  return text
}

/** A date in the header format (RFC 5322 3.3), in UTC. `at` is epoch ms. */
export const formatDate = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000')
