import { parseHeaderBlock } from './header-block.ts'
import { cameSigned, childrenOf, deepest, isSealed, mediaTypeOf, maxParts, valueOf, type Entity } from './mime-structure.ts'
import { transferEncodingOf, type TransferEncoding } from './transfer-encoding.ts'

/** An HTML part of a message that readers see, by its positions in the message. */
export interface HtmlPart {
  /** The start of its header, or of the message if the message is the part. */
  headerStart: number
  bodyStart: number
  /** Without the CRLF that belongs to the boundary. */
  bodyEnd: number
  encoding: TransferEncoding
  /** As declared; '' if it is not. */
  charset: string
}

/**
 * The HTML parts of a message that are shown as its text, not its attachments (RFC 2045, RFC 2046). Empty if the whole message is
 * signed or encrypted, including by DKIM, and if its parts cannot be determined. Takes linear time.
 */
export function htmlParts(message: Buffer): HtmlPart[] {
  const found: HtmlPart[] = []
  const walk = { message, found, left: maxParts }
  const block = parseHeaderBlock(message)
  if (!block.ok || cameSigned(block.fields)) return []
  return readPart(walk, { fields: block.fields, start: 0, bodyStart: block.bodyOffset, end: message.length }, 0) ? found : []
}

interface Walk {
  message: Buffer
  found: HtmlPart[]
  /** Number of parts still allowed. */
  left: number
}

/** False if the message must not be changed. */
function readPart(walk: Walk, part: Entity, depth: number): boolean {
  const { type, parameters } = mediaTypeOf(part.fields)
  if (isSealed(type) || walk.left-- <= 0) return false
  if (type.startsWith('multipart/')) {
    if (!parameters.get('boundary') || depth === deepest) return depth > 0
    for (const child of childrenOf(walk.message, part)) if (!readPart(walk, child, depth + 1)) return false
    return true
  }
  const encoding = transferEncodingOf(valueOf(part.fields, 'content-transfer-encoding'))
  if (type !== 'text/html' || encoding === null || /^\s*attachment\b/i.test(valueOf(part.fields, 'content-disposition') ?? '')) return true
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
