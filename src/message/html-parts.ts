import { fieldsNamed, parseHeaderBlock } from './header-block.ts'
import type { HeaderField } from './header-block.ts'
import { transferEncodingOf } from './transfer-encoding.ts'
import type { TransferEncoding } from './transfer-encoding.ts'

/** A part of HTML that readers see, by its places in the message. */
export interface HtmlPart {
  /** Of its header, or of the message where the message is the part. */
  headerStart: number
  bodyStart: number
  /** Without the CRLF that belongs to the boundary. */
  bodyEnd: number
  encoding: TransferEncoding
  /** As it is declared; '' where it is not. */
  charset: string
}

interface Span {
  start: number
  end: number
}

/** Levels of nested parts; mail programs write four. */
const deepest = 8
const mostParts = 1000
/** A message with one of these was signed as it is. */
const signatures = ['DKIM-Signature', 'ARC-Message-Signature']
/** What a signature or an encryption covers may not be changed. */
const sealed = /^(?:multipart\/(?:signed|encrypted)|application\/(?:x-)?pkcs7-)/

/**
 * The HTML parts of a message that stand in its text, not among its attachments (RFC 2045, RFC 2046). Empty where the message is
 * signed or encrypted as a whole, by a DKIM signature too, and where its parts cannot be told. Linear in the message.
 */
export function htmlParts(message: Buffer): HtmlPart[] {
  const found: HtmlPart[] = []
  const walk = { message, found, left: mostParts }
  const block = parseHeaderBlock(message)
  if (!block.ok || signatures.some((name) => fieldsNamed(block.fields, name).length > 0)) return []
  return readPart(walk, { fields: block.fields, start: 0, bodyStart: block.bodyOffset, end: message.length }, 0) ? found : []
}

interface Walk {
  message: Buffer
  found: HtmlPart[]
  /** Parts still allowed. */
  left: number
}

interface Part {
  fields: HeaderField[]
  start: number
  bodyStart: number
  end: number
}

/** False if the message must be left alone. */
function readPart(walk: Walk, part: Part, depth: number): boolean {
  const { type, parameters } = mediaTypeOf(part.fields)
  if (sealed.test(type) || walk.left-- <= 0) return false
  if (type.startsWith('multipart/')) {
    const boundary = parameters.get('boundary')
    if (!boundary || depth === deepest) return depth > 0
    return partsBetween(walk.message, { start: part.bodyStart, end: part.end }, boundary).every((span) => readSpan(walk, span, depth + 1))
  }
  const encoding = transferEncodingOf(valueOf(part.fields, 'Content-Transfer-Encoding'))
  if (type !== 'text/html' || encoding === null || /^\s*attachment\b/i.test(valueOf(part.fields, 'Content-Disposition') ?? '')) return true
  if (part.bodyStart >= part.end) return true
  walk.found.push({
    headerStart: part.start,
    bodyStart: part.bodyStart,
    bodyEnd: part.end,
    encoding,
    charset: parameters.get('charset') ?? '',
  })
  return true
}

function readSpan(walk: Walk, { start, end }: Span, depth: number): boolean {
  const block = parseHeaderBlock(walk.message.subarray(start, end))
  // A part whose header cannot be read is nobody's HTML.
  return !block.ok || readPart(walk, { fields: block.fields, start, bodyStart: start + block.bodyOffset, end }, depth)
}

/** RFC 2046 5.1.1. The last part of one that has no closing boundary ends with it. */
function partsBetween(message: Buffer, { start, end }: Span, boundary: string): Span[] {
  const parts: Span[] = []
  const delimiter = Buffer.from(`--${boundary}`, 'latin1')
  const searched = message.subarray(0, end)
  let partStart: number | null = null
  for (let at = searched.indexOf(delimiter, start); at !== -1; at = searched.indexOf(delimiter, at + 1)) {
    if (at !== start && searched[at - 1] !== 10) continue
    const line = lineBehind(searched, at + delimiter.length)
    if (!line) continue
    if (partStart !== null) parts.push({ start: partStart, end: Math.max(partStart, at - 2) })
    if (line.isClosing) return parts
    partStart = line.next
  }
  if (partStart !== null) parts.push({ start: partStart, end })
  return parts
}

/** What follows a delimiter on its line; null where it is the beginning of another, longer one. */
function lineBehind(message: Buffer, start: number): { isClosing: boolean; next: number } | null {
  const isClosing = message[start] === 45 && message[start + 1] === 45
  let at = isClosing ? start + 2 : start
  while (message[at] === 32 || message[at] === 9) at++
  if (at >= message.length) return { isClosing, next: message.length }
  return message[at] === 13 && message[at + 1] === 10 ? { isClosing, next: at + 2 } : null
}

const valueOf = (fields: readonly HeaderField[], name: string): string | undefined => fieldsNamed(fields, name)[0]?.value

/** One parameter of RFC 2045 5.1, quoted or not. */
const parameter = /;\s*([\w!#$&^.+%-]{1,60})\s*=\s*(?:"((?:[^"\\]|\\.){0,1000})"|([^\s;"]{1,1000}))/y

function mediaTypeOf(fields: readonly HeaderField[]): { type: string; parameters: Map<string, string> } {
  const value = valueOf(fields, 'Content-Type') ?? 'text/plain'
  const semicolon = value.indexOf(';')
  const type = (semicolon === -1 ? value : value.slice(0, semicolon)).trim().toLowerCase()
  const parameters = new Map<string, string>()
  parameter.lastIndex = semicolon === -1 ? value.length : semicolon
  for (let found = parameter.exec(value); found; found = parameter.exec(value)) {
    const [, name = '', quoted, plain = ''] = found
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain)
  }
  return { type, parameters }
}
