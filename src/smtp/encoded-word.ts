// Every part excludes its terminator, so no input makes the search start over.
const encodedWord = /=\?([^?\s]{1,64})\?([bq])\?([^?\r\n]*)\?=/gi

function bytesOf(encoding: string, text: string): Buffer {
  if (encoding === 'B' || encoding === 'b') return Buffer.from(text, 'base64')
  const latin1 = text.replaceAll('_', ' ').replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(latin1, 'latin1')
}

/** Neighbouring encoded words in one charset. */
interface Run {
  charset: string
  bytes: Buffer[]
  raw: string
}

/** No text has more of them; making a decoder, or failing to, costs more than decoding. */
const mostCharsets = 16

/** The decoder of a charset, null for an unknown one; each is made once. */
function decoderFor(charset: string, made: Map<string, TextDecoder | null>): TextDecoder | null {
  const known = made.get(charset)
  if (known !== undefined || made.size >= mostCharsets) return known ?? null
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
 * Text of a header field with its encoded words decoded (RFC 2047), for people to read. An encoded word in an unknown charset stays
 * unchanged; control characters, encoded or not, become spaces.
 */
export function decodeHeaderText(value: string): string {
  const parts: (string | Run)[] = []
  let end = 0
  for (const match of value.matchAll(encodedWord)) {
    const [raw, label = '', encoding = '', encoded = ''] = match
    const charset = (label.split('*', 1)[0] ?? '').toLowerCase()
    const between = value.slice(end, match.index)
    const last = parts.at(-1)
    const isNeighbour = typeof last === 'object' && /^\s*$/.test(between)
    // Some senders split a character between two words, so neighbours in one charset are decoded together.
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

/** Stays unencoded in an encoded word of a phrase (RFC 2047 5 (3)), the strictest of the three places. */
const literalInQ = /^[A-Za-z0-9!*+/-]$/

function qEncoded(character: string): string {
  if (character === ' ') return '_'
  if (literalInQ.test(character)) return character
  let text = ''
  for (const byte of Buffer.from(character)) text += `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
  return text
}

/**
 * `text` as encoded words in UTF-8, folded at 76 characters (RFC 2047 2); a character is never split between two words. `column` is how
 * much of the first line is already used.
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
      // Nothing fits after a long field name: the first word starts a new line.
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
