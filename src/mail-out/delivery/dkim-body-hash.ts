import { createHash, hash } from 'node:crypto'
import { scanBytes } from '../../platform/smtp/scan-bytes.ts'

const tab = 9
const lf = 10
const cr = 13
const sp = 32
const looseSpace = { odd: false, loose: true }
const crlf = Buffer.from('\r\n')
// One for all: hashing never waits, so no two bodies use it at once.
const chunk = new Uint8Array(16_384)

/**
 * The base64 SHA-256 of the body in relaxed canonical form (RFC 6376 3.4.4): runs of SP and TAB become one SP; white space at line ends and
 * empty lines at the end of the body are dropped; the last line ends with CRLF; an empty body is empty. All other bytes stay as they are.
 */
export function relaxedBodyHash(body: Uint8Array): string {
  const end = endOfText(body)
  if (end === 0) return hash('sha256', '', 'base64')
  const from = firstToRewrite(body, end)
  const endsWithCrlf = body[end] === cr && body[end + 1] === lf
  if (from === end && endsWithCrlf) return hash('sha256', body.subarray(0, end + 2), 'base64')
  const digest = createHash('sha256').update(body.subarray(0, from))
  rewrite(body, { from, end }, (bytes) => digest.update(bytes))
  return digest.update(crlf).digest('base64')
}

/** Where the last non-empty line ends, without trailing white space. */
function endOfText(body: Uint8Array): number {
  let end = body.length
  for (;;) {
    while (end > 0 && isWhiteSpace(body[end - 1])) end--
    if (end < 2 || body[end - 2] !== cr || body[end - 1] !== lf) return end
    end -= 2
  }
}

/** The first white space that is not a single SP within a line; most bodies have none, and are hashed as they are. */
function firstToRewrite(body: Uint8Array, end: number): number {
  const at = scanBytes(body, looseSpace, { from: 0, to: end })
  return at === -1 ? end : at
}

function rewrite(body: Uint8Array, { from, end }: { from: number; end: number }, emit: (bytes: Uint8Array) => void): void {
  let used = 0
  let at = from
  while (at < end) {
    if (used === chunk.length) {
      emit(chunk)
      used = 0
    }
    const byte = body[at++] ?? 0
    if (byte !== sp && byte !== tab) {
      chunk[used++] = byte
      continue
    }
    while (isWhiteSpace(body[at])) at++
    if (!isLineEnd(body, at)) chunk[used++] = sp
  }
  emit(chunk.subarray(0, used))
}

const isWhiteSpace = (byte: number | undefined): boolean => byte === sp || byte === tab

const isLineEnd = (body: Uint8Array, at: number): boolean => body[at] === cr && body[at + 1] === lf
