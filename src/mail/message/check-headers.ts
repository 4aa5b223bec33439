import type { FieldFault } from '../../platform/errors.ts'
import { unfoldable } from './fold-field.ts'
import { foldedCustomField } from './format-field.ts'

const forbidden = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'sender',
  'date',
  'subject',
  'mime-version',
  'message-id',
  'dkim-signature',
  'return-path',
  'received',
  'authentication-results',
  'x-mailer',
])
const forbiddenPrefix = /^(?:content-|arc-|resent-)/

/** What a client writes for a whole message that it has built itself. */
const ofOwnMessage = /^(?:message-id|date|mime-version|content-[a-z-]{1,60})$/i

/**
 * Header fields without those of a message that the caller's client has built: the message that is sent is another one, with its own.
 * `dropped` names those that are left out, as they were written.
 */
export function withoutOwnMessageFields(headers: Record<string, string>): { kept: Record<string, string>; dropped: string[] } {
  const dropped = Object.keys(headers).filter((name) => ofOwnMessage.test(name))
  if (dropped.length === 0) return { kept: headers, dropped }
  return { kept: Object.fromEntries(Object.entries(headers).filter(([name]) => !ofOwnMessage.test(name))), dropped }
}

/**
 * Why this text cannot be used in a header: it has something that some program takes for a line break, or is not valid Unicode (a lone
 * surrogate). Null if it can.
 */
export function headerTextFault(text: string): string | null {
  if (/[\r\n]/.test(text)) return 'It cannot contain line breaks.'
  if (/[\p{Cc}\u2028\u2029]/u.test(text)) return 'It cannot contain control characters.'
  return text.isWellFormed() ? null : 'It is not valid Unicode: it has a lone surrogate.'
}

function headerFault(name: string, value: string): { message: string; help: string | null } | null {
  const lower = name.toLowerCase()
  if (!/^[!-9;-~]{1,76}$/.test(name)) {
    return { message: 'A header name must be 1 to 76 printable ASCII characters without a colon or spaces.', help: null }
  }
  if (forbidden.has(lower) || forbiddenPrefix.test(lower)) {
    return { message: `The header ${name} cannot be set here.`, help: 'Use the field of the request for it, or leave it out.' }
  }
  if (value.length > 998) return { message: 'A header value can have at most 998 characters.', help: null }
  const fault = headerTextFault(value)
  if (fault !== null) return { message: `The value of the header ${name} is invalid. ${fault}`, help: null }
  return foldedCustomField(name, value) === null ? { message: unfoldable(name), help: null } : null
}

/** All faults in a caller's own header fields; if there are none, they are safe to compose. `field` is `headers.<name>`. */
export function checkHeaders(headers: Record<string, string>): FieldFault[] {
  const entries = Object.entries(headers)
  if (entries.length > 50) {
    return [{ field: 'headers', code: 'validation_error', message: 'An email can have at most 50 headers of its own.', help: null }]
  }
  const faults: FieldFault[] = []
  const seen = new Set<string>()
  for (const [name, value] of entries) {
    const isTwice = seen.has(name.toLowerCase())
    const fault = isTwice ? { message: `The header ${name} is given twice.`, help: null } : headerFault(name, value)
    seen.add(name.toLowerCase())
    if (fault) faults.push({ field: `headers.${name.toWellFormed().slice(0, 76)}`, code: 'validation_error', ...fault })
  }
  return faults
}
