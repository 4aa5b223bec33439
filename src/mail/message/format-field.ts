import type { Mailbox } from '../../platform/smtp/mailbox.ts'
import { encodeHeaderText } from '../../platform/smtp/encoded-word.ts'
import { foldField, lineLength } from './fold-field.ts'

const plainText = /^[\x20-\x7e]*$/
const phraseOfAtoms = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/

/** Whether text must be hidden in encoded words so that a reader gets back exactly this text. */
function needsEncoding(text: string): boolean {
  return !plainText.test(text) || text.includes('=?') || text.startsWith(' ') || text.endsWith(' ') || /[^ ]{900}/.test(text)
}

/** A field of free text (Subject), folded, without its final CRLF; the text reads back exactly as given (RFC 2047). */
export function formatTextField(name: string, text: string): string {
  const folded = needsEncoding(text) ? null : foldField(name, text)
  return folded ?? `${name}: ${encodeHeaderText(text, name.length + 2)}`
}

/**
 * A field whose ASCII value has a grammar of its own, which encoded words would break; other text is encoded. Null if it cannot be folded.
 */
export function foldedCustomField(name: string, value: string): string | null {
  const text = value.trim()
  return plainText.test(text) ? foldField(name, text) : formatTextField(name, text)
}

/** The same for a value that has been checked, or is short. */
export const formatCustomField = (name: string, value: string): string => foldedCustomField(name, value) ?? `${name}: ${value.trim()}`

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
