import { scanBytes } from '../../platform/smtp/scan-bytes.ts'

/** bytes passed to the socket at once */
const blockSize = 256 * 1024
/** Bytes that are copied sooner than passed to the socket in pieces. */
const smallSize = 16 * 1024
const [lf, cr, dot] = [10, 13, 46]
// Systems that take a bare CR or LF for a line end, or drop NUL, could see an end of data that is not there.
const unclean = { odd: true, loose: false }
const dotLine = Buffer.from('\r\n.')
const end = Buffer.from('.\r\n')
const endAfterLine = Buffer.from('\r\n.\r\n')

/** A view of the same bytes. */
const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** True if every CR is followed by LF, every LF preceded by CR, and there is no NUL (RFC 5321 2.3.8). */
export const isCleanContent = (content: Uint8Array): boolean => scanBytes(content, unclean) === -1

/**
 * The bytes that follow the 354 reply, in blocks to be written at once: lines that begin with a dot get another (RFC 5321 4.5.2), and a
 * lone dot ends them. Each block is made on request, and copied only if it has such a line or the whole message is small, so a message of
 * nothing but dots costs no more memory than any other.
 * @param header whole header fields to put before the content
 */
export function* encodeData(header: string, content: Uint8Array): Generator<Uint8Array[], void, undefined> {
  const bytes = bufferOf(content)
  if (header.length + bytes.length <= smallSize) return yield [inOnePiece(header, bytes)]
  let block: Uint8Array[] = header === '' ? [] : [Buffer.from(header, 'latin1')]
  for (let from = 0; from < bytes.length; from += blockSize) {
    const to = Math.min(from + blockSize, bytes.length)
    block.push(withDots(bytes, from, to))
    if (to === bytes.length) break
    yield block
    block = []
  }
  block.push(endFor(bytes))
  yield block
}

/** What ends the data: CRLF is already there, or comes first. */
function endFor(bytes: Buffer): Buffer {
  const { length } = bytes
  return length === 0 || (bytes[length - 2] === cr && bytes[length - 1] === lf) ? end : endAfterLine
}

function inOnePiece(header: string, bytes: Buffer): Buffer {
  const data = withDots(bytes, 0, bytes.length)
  const last = endFor(bytes)
  const piece = Buffer.allocUnsafe(header.length + data.length + last.length)
  piece.write(header, 'latin1')
  data.copy(piece, header.length)
  last.copy(piece, header.length + data.length)
  return piece
}

/** A piece of the content with a dot added to each line that begins with one; a view if there is none. */
function withDots(bytes: Buffer, from: number, to: number): Buffer {
  const dots: number[] = from === 0 && bytes[0] === dot ? [0] : []
  // The line end may be in the previous piece.
  const start = Math.max(0, from - 2)
  const searched = bytes.subarray(start, to)
  for (let at = searched.indexOf(dotLine); at !== -1; at = searched.indexOf(dotLine, at + 3)) dots.push(start + at + 2)
  if (dots.length === 0) return bytes.subarray(from, to)
  const stuffed = Buffer.allocUnsafe(to - from + dots.length)
  let size = 0
  let copied = from
  for (const place of dots) {
    size += bytes.copy(stuffed, size, copied, place)
    stuffed[size++] = dot
    copied = place
  }
  bytes.copy(stuffed, size, copied, to)
  return stuffed
}
