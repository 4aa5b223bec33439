import { encodeTransfer, isShorterInBase64, maxLineLength } from './transfer-encoding.ts'

const CR = 13
const LF = 10
const SP = 32
const TAB = 9

type TransferEncoding = '7bit' | 'quoted-printable' | 'base64'

interface EncodedText {
  encoding: TransferEncoding
  /** CRLF line ends, no bare CR or LF, ends with CRLF unless empty. */
  bytes: Buffer
}

/** A line of 7bit text may have 998 octets (RFC 5322 2.1.1). */
const maxPlainLineLength = 990

interface Survey {
  nonAscii: number
  lineEnds: number
  maxLineLength: number
  hasBareLineEnd: boolean
  hasControl: boolean
}

function survey(bytes: Uint8Array): Survey {
  let nonAscii = 0
  let controls = 0
  let lineEnds = 0
  let longest = 0
  let bare = 0
  let lineStart = 0
  // To ask for the length each time would take as long as the rest.
  const { length } = bytes
  for (let i = 0; i < length; i++) {
    const byte = bytes[i]!
    if (byte >= SP && byte < 127) continue
    if (byte > 127) {
      nonAscii++
    } else if (byte === LF || byte === CR) {
      if (i - lineStart > longest) longest = i - lineStart
      if (byte === CR && bytes[i + 1] === LF) i++
      else bare++
      lineEnds++
      lineStart = i + 1
    } else if (byte !== TAB) {
      controls++
    }
  }
  if (length - lineStart > longest) longest = length - lineStart
  return { nonAscii, lineEnds, maxLineLength: longest, hasBareLineEnd: bare > 0, hasControl: controls > 0 }
}

/** Turns every CR, LF and CRLF into CRLF. Returns the same bytes if there is nothing to do. */
export function withCrlf(bytes: Buffer): Buffer {
  const { lineEnds, hasBareLineEnd } = survey(bytes)
  return hasBareLineEnd ? rewriteLineEnds(bytes, lineEnds) : bytes
}

/** Whether these bytes can be sent as they are: ASCII without control characters, CRLF, no line over 998 octets. */
export function isSevenBit(bytes: Uint8Array): boolean {
  const found = survey(bytes)
  return found.nonAscii === 0 && !found.hasControl && !found.hasBareLineEnd && found.maxLineLength <= maxLineLength
}

function rewriteLineEnds(bytes: Uint8Array, lineEnds: number): Buffer {
  const out = Buffer.allocUnsafe(bytes.length + lineEnds)
  let size = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (byte === LF || byte === CR) {
      if (byte === CR && bytes[i + 1] === LF) i++
      out[size++] = CR
      out[size++] = LF
    } else {
      out[size++] = byte
    }
  }
  return out.subarray(0, size)
}

const crlf = Buffer.from('\r\n')

const closed = (bytes: Buffer): Buffer =>
  bytes.length === 0 || (bytes.at(-1) === LF && bytes.at(-2) === CR) ? bytes : Buffer.concat([bytes, crlf])

/** The shortest encoding for this text that every host accepts. */
function encodingFor(found: Survey, size: number): TransferEncoding {
  if (found.nonAscii === 0 && !found.hasControl && found.maxLineLength <= maxPlainLineLength) return '7bit'
  return isShorterInBase64(found.nonAscii, size) ? 'base64' : 'quoted-printable'
}

/** The body of a text part in UTF-8, in a suitable encoding. */
export function encodeTextPart(text: string): EncodedText {
  const given = Buffer.from(text)
  const found = survey(given)
  const bytes = found.hasBareLineEnd ? rewriteLineEnds(given, found.lineEnds) : given
  const encoding = encodingFor(found, bytes.length)
  return { encoding, bytes: closed(encodeTransfer(bytes, encoding).bytes) }
}
