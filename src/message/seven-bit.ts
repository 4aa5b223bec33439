import { isAscii, isUtf8 } from 'node:buffer'
import type { HeaderField } from './header-block.ts'
import { cameSigned, childrenOf, deepest, entityAt, isSealed, mediaTypeOf, mostParts, valueOf, type Entity } from './mime-structure.ts'
import { spliced, type Splice } from './spliced.ts'
import {
  decodeTransfer,
  encodeTransfer,
  hasShortLines,
  isPlainBase64,
  isShorterInBase64,
  transferEncodingOf,
  type TransferEncoding,
} from './transfer-encoding.ts'

/** A message with what it demands of hosts. */
export interface Carried {
  content: Uint8Array
  /** `8bitmime` where hosts need that extension (RFC 6152). */
  bodyType: '7bit' | '8bitmime'
}

/**
 * The message as every host can take it (RFC 5321 4.5.3.1.6, RFC 6152), and as it stays signed behind those that could not take more
 * (RFC 6376 5.3): bodies with bytes above 127 or lines of more than 998 bytes are in quoted-printable or base64. What was signed or
 * encrypted before stays byte for byte, as does what cannot be told. Raw bytes in header fields stay too.
 */
export function inSevenBits({ content, bodyType }: Carried): Carried {
  const message = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (bodyType === '7bit' && hasShortLines(message)) return { content, bodyType }
  const whole = entityAt(message, { start: 0, end: message.length })
  if (!whole || cameSigned(whole.fields)) return { content, bodyType }
  const walk: Walk = { message, changes: [], left: mostParts }
  const isSevenBit = encodeEntity(walk, whole, 0)
  return {
    content:
      walk.changes.length === 0
        ? content
        : spliced(
            message,
            walk.changes.toSorted((one, other) => one.start - other.start),
          ),
    bodyType: isSevenBit ? '7bit' : bodyType,
  }
}

interface Walk {
  message: Buffer
  changes: Splice[]
  /** Parts still allowed. */
  left: number
}

const crlf = Buffer.from('\r\n')

/** Whether all bodies in it are ASCII now. */
function encodeEntity(walk: Walk, entity: Entity, depth: number): boolean {
  const body = walk.message.subarray(entity.bodyStart, entity.end)
  const isSevenBit = isAscii(body)
  if (isSevenBit && hasShortLines(body)) return true
  const { type } = mediaTypeOf(entity.fields)
  // The parts of a digest are messages without saying so (RFC 2046 5.1.5).
  if (isSealed(type) || type === 'multipart/digest' || depth === deepest || walk.left-- <= 0) return isSevenBit
  if (type.startsWith('multipart/')) return encodeParts(walk, entity, childrenOf(walk.message, entity), depth)
  if (type === 'message/rfc822') {
    const inner = entityAt(walk.message, { start: entity.bodyStart, end: entity.end })
    return inner && !cameSigned(inner.fields) ? encodeParts(walk, entity, [inner], depth) : isSevenBit
  }
  // No other may be encoded (RFC 2046 5.2).
  return type.startsWith('message/') ? isSevenBit : encodeLeaf(walk, entity, body) || isSevenBit
}

/** What is made of parts has no encoding of its own, but says what is in them (RFC 2045 6.4). */
function encodeParts(walk: Walk, entity: Entity, parts: Iterable<Entity>, depth: number): boolean {
  let isSevenBit = true
  let next = entity.bodyStart
  // What stands between them, before and behind, stays as it is.
  const isAsciiTo = (end: number): boolean => isAscii(walk.message.subarray(next, end))
  for (const part of parts) {
    if (!isAsciiTo(part.start)) isSevenBit = false
    if (!encodeEntity(walk, part, depth + 1)) isSevenBit = false
    next = part.end
  }
  if (!isAsciiTo(entity.end)) isSevenBit = false
  const declared = transferEncodingOf(valueOf(entity.fields, 'Content-Transfer-Encoding'))
  if (isSevenBit && (declared === '8bit' || declared === 'binary')) walk.changes.push(labelled(entity, '7bit'))
  return isSevenBit
}

/** False where it must stay as it is. */
function encodeLeaf({ message, changes }: Walk, entity: Entity, body: Buffer): boolean {
  const declared = transferEncodingOf(valueOf(entity.fields, 'Content-Transfer-Encoding'))
  if (declared === null || (declared === 'base64' && !isPlainBase64(body))) return false
  const decoded = decodeTransfer(body, declared)
  const { encoding, bytes } = encodeTransfer(decoded, encodingFor(decoded, declared))
  if (encoding !== declared) changes.push(labelled(entity, encoding, entity.start === 0 ? ownFields(entity, decoded) : []))
  // The last line of a message ends with CRLF, whatever the encoding makes of it.
  const isOpen = entity.end === message.length && !bytes.subarray(-2).equals(crlf)
  changes.push({ start: entity.bodyStart, end: entity.end, bytes: isOpen ? Buffer.concat([bytes, crlf]) : bytes })
  return true
}

function encodingFor(decoded: Buffer, declared: TransferEncoding): TransferEncoding {
  if (declared === 'base64' || declared === 'quoted-printable') return declared
  let nonAscii = 0
  for (const byte of decoded) if (byte > 127) nonAscii++
  return isShorterInBase64(nonAscii, decoded.length) ? 'base64' : 'quoted-printable'
}

/** The header with another encoding. */
function labelled({ fields, start, bodyStart }: Entity, encoding: string, added: string[] = []): Splice {
  const kept = fields.filter(({ name }) => name.toLowerCase() !== 'content-transfer-encoding').map(({ raw }) => raw)
  const lines = [...added, `Content-Transfer-Encoding: ${encoding}`, '', ''].join('\r\n')
  return { start, end: bodyStart, bytes: Buffer.concat([...kept, Buffer.from(lines)]) }
}

/** What a message without MIME needs for its encoding to be understood. A charset is said only where it is certain. */
function ownFields({ fields }: Entity, decoded: Buffer): string[] {
  const added: string[] = []
  if (valueOf(fields, 'MIME-Version') === undefined) added.push('MIME-Version: 1.0')
  if (valueOf(fields, 'Content-Type') === undefined && isUtf8(decoded)) added.push('Content-Type: text/plain; charset=utf-8')
  return added
}

/** Whether the message must stay as it came, as far as its header tells: it has a signature, or is signed or encrypted as a whole. */
export const mustStay = (fields: readonly HeaderField[]): boolean => cameSigned(fields) || isSealed(mediaTypeOf(fields).type)
