import { isUtf8 } from 'node:buffer'

/** One field of a header, unchanged. */
export interface HeaderField {
  /** As written, without the colon. */
  name: string
  /** Its name in lower case. */
  key: string
  /** The whole field, including folding and the final CRLF. */
  raw: Uint8Array
  /** Unfolded and trimmed; read as UTF-8 if it is valid, else as Latin-1. */
  value: string
}

interface HeaderBlock {
  ok: true
  fields: HeaderField[]
  /** Where the body begins, after the empty line. */
  bodyOffset: number
}

type ParsedHeaderBlock = HeaderBlock | { ok: false; fault: string }

/** bytes */
export const maxHeaderBytes = 256 * 1024
export const maxHeaderFields = 1000

const CR = 13
const LF = 10
const SP = 32
const TAB = 9

/** Header bytes as text: UTF-8 if valid, else Latin-1. */
const headerTextOf = (bytes: Buffer): string => bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')

/** The end of the line that starts at `start`, after its CRLF; -1 if it has a bare CR or LF, a NUL or no CRLF. */
function endOfLine(bytes: Uint8Array, start: number): number {
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === CR) return bytes[i + 1] === LF ? i + 2 : -1
    if (byte === LF || byte === 0) return -1
  }
  return -1
}

const isBlank = (byte: number | undefined): boolean => byte === SP || byte === TAB

export function withoutOuterBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function fieldOf(raw: Buffer): HeaderField | string {
  const text = headerTextOf(raw)
  const colon = text.indexOf(':')
  const name = text.slice(0, Math.max(0, colon))
  if (!/^[!-9;-~]+$/.test(name)) {
    return /^[!-9;-~]+[ \t]+$/.test(name)
      ? `There is a space between the field name ${name.trim()} and its colon, which programs interpret differently.`
      : `This line is not a header field: ${JSON.stringify(headerTextOf(raw.subarray(0, 60)))}.`
  }
  if (name.length > 76) return `A header field name can have at most 76 characters: ${name.slice(0, 40)}…`
  const value = text.slice(colon + 1, -2)
  return { name, key: name.toLowerCase(), raw, value: withoutOuterBlanks(value.includes('\r\n') ? value.replaceAll('\r\n', '') : value) }
}

/**
 * Parses the header at the start of a message (RFC 5322 2.2) without changing a byte. Refuses what programs interpret differently: a
 * space before the colon, a bare CR or LF, NUL, a line that is not a field. The empty line may be missing if there is no body.
 */
export function parseHeaderBlock(content: Uint8Array): ParsedHeaderBlock {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const refuse = (fault: string): ParsedHeaderBlock => ({ ok: false, fault })
  const fields: HeaderField[] = []
  let start = 0
  while (start < bytes.length) {
    let end = endOfLine(bytes, start)
    if (end === start + 2) return { ok: true, fields, bodyOffset: end }
    if (isBlank(bytes[start])) return refuse('The header begins with a continuation line.')
    while (end >= 0 && end <= maxHeaderBytes && isBlank(bytes[end])) end = endOfLine(bytes, end)
    if (end < 0) return refuse('A header line has a bare CR, a bare LF or a NUL, or does not end with CRLF.')
    if (end > maxHeaderBytes) return refuse(`The header is larger than ${maxHeaderBytes / 1024} KiB.`)
    if (fields.length === maxHeaderFields) return refuse(`The header has more than ${maxHeaderFields} fields.`)
    const field = fieldOf(bytes.subarray(start, end))
    if (typeof field === 'string') return refuse(field)
    fields.push(field)
    start = end
  }
  return { ok: true, fields, bodyOffset: bytes.length }
}

/** The first field with this name in lower case. */
export function fieldNamed(fields: readonly HeaderField[], key: string): HeaderField | undefined {
  // Asked some twenty times for each message, so without a function or an iterator for each.
  for (let at = 0; at < fields.length; at++) if (fields[at]?.key === key) return fields[at]
  return undefined
}

/** All of them, in their order. */
export const fieldsNamed = (fields: readonly HeaderField[], key: string): HeaderField[] => fields.filter((field) => field.key === key)

/** The bytes of a header, including the empty line at its end. Each entry is a field as it came, or the text of a new one. */
export function headerBytesOf(entries: readonly (HeaderField | string)[]): Buffer {
  const parts = entries.map((entry) => (typeof entry === 'string' ? Buffer.from(`${entry}\r\n`) : entry.raw))
  return Buffer.concat([...parts, Buffer.from('\r\n')])
}
