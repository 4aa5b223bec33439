/** One field of a header, as it came. */
export interface HeaderField {
  /** As written, without the colon. */
  name: string
  /** The whole field with its folding and the final CRLF. */
  raw: Uint8Array
  /** Unfolded, without spaces at its ends; UTF-8 where it is that, else Latin-1. */
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
const COLON = 58

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes of a header as text: UTF-8 where they are that, else Latin-1. */
function headerTextOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  }
}

/** Where the line that starts at `start` ends, after its CRLF; -1 where it holds a bare CR or LF, a NUL or no CRLF. */
function endOfLine(bytes: Uint8Array, start: number): number {
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === CR) return bytes[i + 1] === LF ? i + 2 : -1
    if (byte === LF || byte === 0) return -1
  }
  return -1
}

const isBlank = (byte: number | undefined): boolean => byte === SP || byte === TAB

function withoutOuterBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function fieldOf(raw: Uint8Array): HeaderField | string {
  const colon = raw.indexOf(COLON)
  const name = headerTextOf(raw.subarray(0, Math.max(0, colon)))
  if (colon > 0 && /^[!-9;-~]+[ \t]+$/.test(name)) {
    return `There is a space between the field name ${name.trim()} and its colon, which readers understand differently.`
  }
  if (colon < 1 || !/^[!-9;-~]+$/.test(name)) {
    return `This line is not a header field: ${JSON.stringify(headerTextOf(raw.subarray(0, 60)))}.`
  }
  if (name.length > 76) return `A header field name has at most 76 characters: ${name.slice(0, 40)}…`
  const value = headerTextOf(raw.subarray(colon + 1)).replaceAll('\r\n', '')
  return { name, raw, value: withoutOuterBlanks(value) }
}

/**
 * Reads the header at the start of a message (RFC 5322 2.2) without changing a byte of it. Refused is what
 * readers understand differently: a space before the colon, a bare CR or LF, NUL, a line that is no field.
 * The empty line may be missing where there is no body.
 */
export function parseHeaderBlock(bytes: Uint8Array): ParsedHeaderBlock {
  const refuse = (fault: string): ParsedHeaderBlock => ({ ok: false, fault })
  const fields: HeaderField[] = []
  let start = 0
  while (start < bytes.length) {
    let end = endOfLine(bytes, start)
    if (end === start + 2) return { ok: true, fields, bodyOffset: end }
    if (isBlank(bytes[start])) return refuse('The header begins with a folded line.')
    while (end >= 0 && end <= maxHeaderBytes && isBlank(bytes[end])) end = endOfLine(bytes, end)
    if (end < 0) return refuse('A header line holds a bare CR, a bare LF or a NUL, or does not end with CRLF.')
    if (end > maxHeaderBytes) return refuse(`The header is larger than ${maxHeaderBytes / 1024} KiB.`)
    if (fields.length === maxHeaderFields) return refuse(`The header has more than ${maxHeaderFields} fields.`)
    const field = fieldOf(bytes.subarray(start, end))
    if (typeof field === 'string') return refuse(field)
    fields.push(field)
    start = end
  }
  return { ok: true, fields, bodyOffset: bytes.length }
}

/** The fields of this name, in their order. */
export function fieldsNamed(fields: readonly HeaderField[], name: string): HeaderField[] {
  const lower = name.toLowerCase()
  return fields.filter((field) => field.name.toLowerCase() === lower)
}

/** The bytes of a header, with the empty line that ends it: each entry a field as it came, or the text of a new one. */
export function headerBytesOf(entries: readonly (HeaderField | string)[]): Buffer {
  const parts = entries.map((entry) => (typeof entry === 'string' ? Buffer.from(`${entry}\r\n`) : entry.raw))
  return Buffer.concat([...parts, Buffer.from('\r\n')])
}
