// Every part excludes its terminator, so no input makes the search backtrack.
const encodedWord = /=\?([^?\s]{1,64})\?([bq])\?([^?\r\n]*)\?=/gi

function bytesOf(encoding: string, text: string): Buffer {
  if (encoding === 'B' || encoding === 'b') return Buffer.from(text, 'base64')
  const latin1 = text.replaceAll('_', ' ').replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(latin1, 'latin1')
}

/** Adjacent encoded words in one charset. */
interface Run {
  charset: string
  bytes: Buffer[]
  raw: string
}

/** No text needs more. Creating a decoder, or failing to, costs more than decoding. */
const maxCharsets = 16

/** The decoder of a charset; null if it is unknown. Each is created once. */
function decoderFor(charset: string, made: Map<string, TextDecoder | null>): TextDecoder | null {
  const known = made.get(charset)
  if (known !== undefined || made.size >= maxCharsets) return known ?? null
  let decoder: TextDecoder | null = null
  try {
    decoder = new TextDecoder(charset, { ignoreBOM: true })
  } catch {
    // No such charset.
  }
  made.set(charset, decoder)
  return decoder
}

const unprintable = /[\p{Cc}\u2028\u2029]+/gu

/**
 * Decodes the encoded words in a header field's text for display (RFC 2047). An encoded word in an unknown charset stays unchanged. Control
 * characters, encoded or not, become spaces.
 */
export function decodeHeaderText(value: string): string {
  if (!value.includes('=?')) return value.replace(unprintable, ' ')
  const parts: (string | Run)[] = []
  let end = 0
  for (const match of value.matchAll(encodedWord)) {
    const [raw, label = '', encoding = '', encoded = ''] = match
    const charset = (label.split('*', 1)[0] ?? '').toLowerCase()
    const between = value.slice(end, match.index)
    const last = parts.at(-1)
    const isNeighbour = typeof last === 'object' && /^\s*$/.test(between)
    // Some senders split a character between two words, so adjacent words in one charset are decoded together.
    if (isNeighbour && last.charset === charset) {
      last.bytes.push(bytesOf(encoding, encoded))
      last.raw += between + raw
    } else {
      if (!isNeighbour) parts.push(between)
      parts.push({ charset, bytes: [bytesOf(encoding, encoded)], raw })
    }
    end = match.index + raw.length
  }
  parts.push(value.slice(end))
  const decoders = new Map<string, TextDecoder | null>()
  const text = parts.map((part) => {
    if (typeof part === 'string') return part
    return decoderFor(part.charset, decoders)?.decode(Buffer.concat(part.bytes)) ?? part.raw
  })
  return text.join('').replace(unprintable, ' ')
}

const prefixLength = '=?UTF-8?Q?'.length
const wordOverhead = prefixLength + '?='.length

/** Characters that need no encoding in a phrase (RFC 2047 5 (3)), the strictest of the three contexts. */
const literalInQ = /^[A-Za-z0-9!*+/-]$/

function qEncoded(character: string): string {
  if (character === ' ') return '_'
  if (literalInQ.test(character)) return character
  let text = ''
  for (const byte of Buffer.from(character)) text += `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
  return text
}

/**
 * Encodes `text` as encoded words in UTF-8, folded at 76 characters (RFC 2047 2). Never splits a character between two words. `column`:
 * characters of the first line already used.
 */
export function encodeHeaderText(text: string, column: number): string {
  const nonAscii = text.replace(/[\x20-\x7e]+/g, '').length
  const encoding = nonAscii * 3 > text.length ? 'B' : 'Q'
  const words: string[] = []
  let chunk = ''
  let size = 0
  let room = 75 - column
  const close = (): void => {
    words.push(`=?UTF-8?${encoding}?${encoding === 'B' ? Buffer.from(chunk).toString('base64') : chunk}?=`)
    chunk = ''
    size = 0
    room = 75
  }
  for (const character of text) {
    const encoded = encoding === 'B' ? character : qEncoded(character)
    const length = encoding === 'B' ? Buffer.byteLength(character) : encoded.length
    const needed = encoding === 'B' ? Math.ceil((size + length) / 3) * 4 : size + length
    if (needed + wordOverhead > room) {
      // The field name leaves no room, so the first word starts a new line.
      if (chunk === '') words.push('')
      else close()
      room = 75
    }
    chunk += encoded
    size += length
  }
  if (chunk !== '') close()
  return words.join('\r\n ')
}
