import { isAscii } from 'node:buffer'
import type { ParsedMailboxList } from '../../platform/smtp/mailbox.ts'
import { decodeHeaderText } from '../../platform/smtp/encoded-word.ts'
import { foldField, unfoldable } from './fold-field.ts'
import { formatMailboxes, formatTextField } from './format-field.ts'
import { withoutOuterBlanks, type HeaderField } from './header-block.ts'
import { maxLineLength } from './transfer-encoding.ts'

/** Parses an address field; the fields that name an author strictly. */
export type ReadMailboxes = (field: HeaderField) => ParsedMailboxList

/** A field as it leaves: as it came, or the text of a new one. */
type OutgoingField = HeaderField | string | { fault: string }

const addressField = /^(?:resent-)?(?:from|sender|to|cc|reply-to)$/
/** The fields that name an author, by their names in lower case. */
export const authorField = /^(?:resent-)?(?:from|sender)$/
const freeText = /^(?:subject|comments)$/
const structured = /^(?:content-|mime-|dkim-|arc-|list-|resent-|received|references|in-reply-to|message-id|date|authentication-)/

/** bytes of a line without its CRLF; some relays cut lines, and any signature over them, at 990 with it */
const maxFieldLineLength = 988

/**
 * A field of an unsigned message in a form that all programs read alike, and that passes all hosts: addresses as RFC 5322 demands, raw UTF-8
 * or Latin-1 as encoded words for hosts without SMTPUTF8, and no long lines. What this would change the meaning of stays as it is.
 */
export function outgoingField(field: HeaderField, read: ReadMailboxes): OutgoingField {
  if (addressField.test(field.key)) {
    const parsed = read(field)
    const isRewritten = parsed.ok && parsed.mailboxes.length > 0 && !(parsed.isPlain && isAscii(field.raw))
    return isRewritten ? formatMailboxes(field.name, parsed.mailboxes) : withShortLines(field)
  }
  if (!isAscii(field.raw) && !structured.test(field.key)) return formatTextField(field.name, decodeHeaderText(field.value))
  const folded = withShortLines(field)
  return 'fault' in folded && freeText.test(field.key) ? formatTextField(field.name, decodeHeaderText(field.value)) : folded
}

/** The same for a message that came with a signature over its bytes: only what breaks none of its `signatures` is changed. */
export function signedField(field: HeaderField, signatures: readonly HeaderField[], read: ReadMailboxes): OutgoingField {
  if (authorField.test(field.key)) {
    const parsed = read(field)
    if (parsed.ok && !parsed.isPlain) return { fault: unclear(field.name) }
  }
  if (field.raw.length <= maxLineLength || linesOf(field).every(({ length }) => length <= maxLineLength)) return field
  // Folding at white space changes nothing in the relaxed form (RFC 6376 3.4.2).
  const isRelaxed = signatures.every(({ value }) => /(?:^|;)\s*c\s*=\s*relaxed\b/i.test(value))
  return (isRelaxed ? refolded(field, '') : null) ?? { fault: longAndSigned(field.name) }
}

const unclear = (name: string): string =>
  `The ${name} field must be corrected, but the message is signed. Put names with punctuation in quotation marks, and leave out comments ` +
  `and what does not belong to an address, before signing: ${name}: "Name" <address>.`

const longAndSigned = (name: string): string =>
  `The ${name} field has a line of more than ${maxLineLength} characters, and the message is signed. Fold the field before signing (RFC 5322 2.1.1).`

/** The lines of a field, without their CRLFs. */
const linesOf = ({ raw }: HeaderField): string[] => Buffer.from(raw).toString('latin1').slice(0, -2).split('\r\n')

const CR = 13

/** Folds a field with lines that are too long, or with one of only white space, which some programs take for the end of the header. */
export function withShortLines(field: HeaderField): HeaderField | { fault: string } {
  const { raw } = field
  if (raw.length <= maxFieldLineLength && raw.indexOf(CR) === raw.length - 2) return field
  const [first = '', ...others] = linesOf(field)
  if (first.length <= maxFieldLineLength && others.every((line) => line.length <= maxFieldLineLength && /[^ \t]/.test(line))) return field
  return refolded(field) ?? { fault: unfoldable(field.name) }
}

function refolded(field: HeaderField, separators?: string): HeaderField | null {
  const value = withoutOuterBlanks(
    linesOf(field)
      .join('')
      .slice(field.name.length + 1),
  )
  // White space alone is never worth a refusal.
  const text = foldField(field.name, value, separators) ?? foldField(field.name, value.replace(/[ \t]+/g, ' '), separators)
  return text === null ? null : { ...field, raw: Buffer.from(`${text}\r\n`, 'latin1') }
}
