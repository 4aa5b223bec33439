/** A `Content-Transfer-Encoding` of RFC 2045 section 6. */
export type TransferEncoding = '7bit' | '8bit' | 'binary' | 'quoted-printable' | 'base64'

/** octets of a line without its CRLF; RFC 5322 2.1.1 */
export const maxLineLength = 998
const [cr, lf, sp, tab, equals, hyphen] = [13, 10, 32, 9, 61, 45]

/** The encoding that a field names, `7bit` if there is no field; null if it is not one of RFC 2045. */
export function transferEncodingOf(value: string | undefined): TransferEncoding | null {
  const name = (value ?? '').trim().toLowerCase()
  if (name === '') return '7bit'
  return name === '7bit' || name === '8bit' || name === 'binary' || name === 'quoted-printable' || name === 'base64' ? name : null
}

/** The content of a part, decoded. Invalid input is read as most mail programs read it. */
export function decodeTransfer(bytes: Buffer, encoding: TransferEncoding): Buffer {
  if (encoding === 'base64') return Buffer.from(bytes.toString('latin1'), 'base64')
  return encoding === 'quoted-printable' ? decodeQuotedPrintable(bytes) : bytes
}

/** False if readers would decode it differently: data after the padding, or characters that are not base64. */
export const isPlainBase64 = (bytes: Buffer): boolean => /^[A-Za-z0-9+/\s]*(?:=\s*){0,2}$/.test(bytes.toString('latin1'))

/** The content in this encoding again, or in quoted-printable if it has lines that are too long for it. */
export function encodeTransfer(content: Buffer, encoding: TransferEncoding): { encoding: TransferEncoding; bytes: Buffer } {
  if (encoding === 'base64') return { encoding, bytes: base64Lines(content) }
  if (encoding !== 'quoted-printable' && hasShortLines(content)) return { encoding, bytes: content }
  return { encoding: 'quoted-printable', bytes: encodeQuotedPrintable(content) }
}

/** Lines of 76 characters, without a CRLF at the end. */
function base64Lines(bytes: Buffer): Buffer {
  const text = bytes.toString('base64')
  const lines: string[] = []
  for (let i = 0; i < text.length; i += 76) lines.push(text.slice(i, i + 76))
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

/** Whether no line is longer than hosts must accept (RFC 5321 4.5.3.1.6). It is cheap: it looks for a line end every 1000 bytes. */
export function hasShortLines(bytes: Buffer): boolean {
  for (let start = 0; bytes.length - start > maxLineLength;) {
    const end = bytes.lastIndexOf(lf, start + maxLineLength + 1)
    if (end < start) return false
    start = end + 1
  }
  return true
}

/**
 * True if base64 is shorter for text with this many bytes beyond ASCII: quoted-printable triples each one, base64 adds a third to
 * everything.
 */
export const isShorterInBase64 = (nonAscii: number, size: number): boolean => nonAscii * 5 > size

function decodeQuotedPrintable(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length)
  let size = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    if (byte === sp || byte === tab) {
      const end = endOfBlanks(bytes, i)
      // White space at the end of a line was added in transit (RFC 2045 6.7, rule 3).
      if (end < bytes.length && !isLineEnd(bytes, end)) size += bytes.copy(out, size, i, end)
      i = end - 1
      continue
    }
    if (byte !== equals) {
      out[size++] = byte
      continue
    }
    const value = hexValue(bytes[i + 1]) * 16 + hexValue(bytes[i + 2])
    if (value >= 0) {
      out[size++] = value
      i += 2
      continue
    }
    const end = endOfBlanks(bytes, i + 1)
    if (end === bytes.length) break
    if (isLineEnd(bytes, end)) i = bytes[end] === cr ? end + 1 : end
    else out[size++] = byte
  }
  return out.subarray(0, size)
}

function endOfBlanks(bytes: Buffer, start: number): number {
  let end = start
  while (bytes[end] === sp || bytes[end] === tab) end++
  return end
}

const isLineEnd = (bytes: Buffer, at: number): boolean => bytes[at] === lf || (bytes[at] === cr && bytes[at + 1] === lf)

/** Negative if it is not a digit, so a pair with one is negative too. */
function hexValue(byte: number | undefined): number {
  if (byte === undefined) return -256
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -256
}

const hexDigits = Buffer.from('0123456789ABCDEF')

/** Only CRLF is a line end: a lone CR or LF is escaped, so that decoding gives the same bytes. */
function encodeQuotedPrintable(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(3 * bytes.length + 3 * Math.ceil((3 * bytes.length) / 73))
  let size = 0
  let column = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    if (byte === cr && bytes[i + 1] === lf) {
      out[size++] = cr
      out[size++] = lf
      column = 0
      i++
      continue
    }
    const isBlank = byte === sp || byte === tab
    const isSafe = isBlank ? i + 1 < bytes.length && bytes[i + 1] !== cr : byte > sp && byte < 127 && byte !== equals
    const isFirst = column === 0 || column + (isSafe ? 1 : 3) > 75
    // A line that begins with a hyphen could be taken for a boundary.
    const isPlain = isSafe && !(isFirst && byte === hyphen)
    const width = isPlain ? 1 : 3
    if (column + width > 75) {
      out[size++] = equals
      out[size++] = cr
      out[size++] = lf
      column = 0
    }
    if (isPlain) {
      out[size++] = byte
    } else {
      out[size++] = equals
      out[size++] = hexDigits[byte >> 4] as number
      out[size++] = hexDigits[byte & 15] as number
    }
    column += width
  }
  return out.subarray(0, size)
}
