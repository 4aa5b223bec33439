import { isAscii, isUtf8 } from 'node:buffer'
import { headerBytesOf, type HeaderField } from './header-block.ts'
import { cameSigned, childrenOf, deepest, entityAt, isSealed, mediaTypeOf, maxParts, valueOf, type Entity } from './mime-structure.ts'
import { withShortLines } from './outgoing-field.ts'
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

/** A message and what it requires of hosts. */
export interface Carried {
  content: Uint8Array
  /** `8bitmime` where hosts need that extension (RFC 6152). */
  bodyType: '7bit' | '8bitmime'
}

/**
 * The message in a form that every host accepts (RFC 5321 4.5.3.1.6, RFC 6152), so that its signature stays valid behind hosts that
 * accept no more (RFC 6376 5.3). Bodies with bytes above 127 or lines of more than 998 bytes become quoted-printable or base64, and long
 * header fields of parts are folded. What was already signed or encrypted, or cannot be parsed, stays byte for byte. Raw bytes in header
 * fields stay too.
 */
export function inSevenBits({ content, bodyType }: Carried): Carried {
  const message = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (bodyType === '7bit' && hasShortLines(message)) return { content, bodyType }
  const whole = entityAt(message, { start: 0, end: message.length })
  if (!whole || cameSigned(whole.fields)) return { content, bodyType }
  const walk: Walk = { message, changes: [], left: maxParts }
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
  /** Number of parts still allowed. */
  left: number
}

const crlf = Buffer.from('\r\n')

/** Whether all bodies in it are now ASCII. */
function encodeEntity(walk: Walk, entity: Entity, depth: number): boolean {
  const { start, bodyStart } = entity
  // The header of the message itself was folded when it came.
  if (start === 0 || hasShortLines(walk.message.subarray(start, bodyStart))) return encodeBody(walk, entity, depth)
  const fields = entity.fields.map((field) => {
    const folded = withShortLines(field)
    return 'fault' in folded ? field : folded
  })
  const before = walk.changes.length
  const isSevenBit = encodeBody(walk, { ...entity, fields }, depth)
  const isWritten = walk.changes.slice(before).some((change) => change.start === start)
  if (!isWritten) walk.changes.push({ start, end: bodyStart, bytes: headerBytesOf(fields) })
  return isSevenBit
}

function encodeBody(walk: Walk, entity: Entity, depth: number): boolean {
  const body = walk.message.subarray(entity.bodyStart, entity.end)
  const isSevenBit = isAscii(body)
  if (isSevenBit && hasShortLines(body)) return true
  const { type } = mediaTypeOf(entity.fields)
  // The parts of a digest are messages by default (RFC 2046 5.1.5).
  if (isSealed(type) || type === 'multipart/digest' || depth === deepest || walk.left-- <= 0) return isSevenBit
  if (type.startsWith('multipart/')) return encodeParts(walk, entity, childrenOf(walk.message, entity), depth)
  if (type === 'message/rfc822') {
    const inner = entityAt(walk.message, { start: entity.bodyStart, end: entity.end })
    return inner && !cameSigned(inner.fields) ? encodeParts(walk, entity, [inner], depth) : isSevenBit
  }
  // Other parts must not be encoded (RFC 2046 5.2).
  return type.startsWith('message/') ? isSevenBit : encodeLeaf(walk, entity, body) || isSevenBit
}

/** A composite part has no encoding of its own, but declares that of its parts (RFC 2045 6.4). */
function encodeParts(walk: Walk, entity: Entity, parts: Iterable<Entity>, depth: number): boolean {
  let isSevenBit = true
  let next = entity.bodyStart
  // What lies between, before and after the parts stays as it is.
  const isAsciiTo = (end: number): boolean => isAscii(walk.message.subarray(next, end))
  for (const part of parts) {
    if (!isAsciiTo(part.start)) isSevenBit = false
    if (!encodeEntity(walk, part, depth + 1)) isSevenBit = false
    next = part.end
  }
  if (!isAsciiTo(entity.end)) isSevenBit = false
  const declared = transferEncodingOf(valueOf(entity.fields, 'content-transfer-encoding'))
  if (isSevenBit && (declared === '8bit' || declared === 'binary')) walk.changes.push(labelled(entity, '7bit'))
  return isSevenBit
}

/** False if it must stay as it is. */
function encodeLeaf({ message, changes }: Walk, entity: Entity, body: Buffer): boolean {
  const declared = transferEncodingOf(valueOf(entity.fields, 'content-transfer-encoding'))
  if (declared === null || (declared === 'base64' && !isPlainBase64(body))) return false
  const decoded = decodeTransfer(body, declared)
  const { encoding, bytes } = encodeTransfer(decoded, encodingFor(decoded, declared))
  if (encoding !== declared) changes.push(labelled(entity, encoding, entity.start === 0 ? ownFields(entity, decoded) : []))
  // The last line of a message ends with CRLF, whatever the encoding produces.
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

/** The header with a different encoding. */
function labelled({ fields, start, bodyStart }: Entity, encoding: string, added: string[] = []): Splice {
  const kept = fields.filter(({ key }) => key !== 'content-transfer-encoding').map(({ raw }) => raw)
  const lines = [...added, `Content-Transfer-Encoding: ${encoding}`, '', ''].join('\r\n')
  return { start, end: bodyStart, bytes: Buffer.concat([...kept, Buffer.from(lines)]) }
}

/** The fields that a message without MIME needs so that its encoding is understood. The charset is declared only if it is certain. */
function ownFields({ fields }: Entity, decoded: Buffer): string[] {
  const added: string[] = []
  if (valueOf(fields, 'mime-version') === undefined) added.push('MIME-Version: 1.0')
  if (valueOf(fields, 'content-type') === undefined && isUtf8(decoded)) added.push('Content-Type: text/plain; charset=utf-8')
  return added
}

/** Whether the message must stay as it came, as far as its header says: it has a signature, or is signed or encrypted as a whole. */
export const mustStay = (fields: readonly HeaderField[]): boolean => cameSigned(fields) || isSealed(mediaTypeOf(fields).type)
