/**
 * HTML as it is in a message, in any charset. `text` is for finding markup: every unit is at the position of its bytes, readable or not.
 * `decode` reads what is between two positions.
 */
export interface HtmlSource {
  text: string
  /** Bytes of a unit of `text`: 2 in UTF-16, else 1. */
  unit: 1 | 2
  /** The characters between two positions of `text`; null for an unknown charset. */
  decode(start: number, end: number): string | null
  /** ASCII as the charset writes it. */
  encode(ascii: string): Buffer
}

const [shiftOut, shiftIn, escape] = ['\x0e', '\x0f', '\x1b']

/** Bytes outside the ASCII state of a charset: they may look like markup but are not. */
const shifted: [charset: RegExp, stretch: RegExp][] = [
  [/^(?:iso-2022-(?:jp|cn)|csiso2022jp)/, new RegExp(`${escape}\\$[^]*?(?=${escape}\\([BJ]|$)`, 'g')],
  [/^(?:iso-2022-kr|csiso2022kr)/, new RegExp(`${shiftOut}[^${shiftIn}]*`, 'g')],
  [/^hz-gb-2312/, /~\{[^]*?(?:~\}|$)/g],
]
/** Where even `<` is not the ASCII byte. */
const unlikeAscii = /^(?:utf-?7|utf-?32|ucs-?4|ebcdic|ibm0?37|cp0?37)/

/**
 * @param charset as the part declares it; a `meta` element does not count
 * @returns null if nothing can be found in that charset
 */
export function htmlSource(bytes: Uint8Array, charset: string): HtmlSource | null {
  const name = charset.trim().toLowerCase()
  if (unlikeAscii.test(name)) return null
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (/^(?:utf-?16|ucs-?2|unicode)/.test(name)) return utf16Source(buffer, name)
  const stretch = shifted.find(([form]) => form.test(name))?.[1]
  const latin1 = buffer.toString('latin1')
  let decoder: TextDecoder | null | undefined
  return {
    text: stretch ? latin1.replace(stretch, (found) => '\x80'.repeat(found.length)) : latin1,
    unit: 1,
    decode(start, end) {
      const raw = latin1.slice(start, end)
      return /^[\t\n\r -}]*$/.test(raw) ? raw : decodedBy((decoder ??= decoderOf(name)), buffer.subarray(start, end))
    },
    encode: (ascii) => Buffer.from(ascii, 'latin1'),
  }
}

/** The byte order mark decides, else the charset's name, else little-endian. */
function utf16Source(buffer: Buffer, name: string): HtmlSource | null {
  const isBig = buffer[0] === 0xfe && buffer[1] === 0xff ? true : buffer[0] === 0xff && buffer[1] === 0xfe ? false : name.endsWith('be')
  const whole = buffer.subarray(0, buffer.length - (buffer.length % 2))
  const swapped = (bytes: Buffer): Buffer => (isBig ? Buffer.from(bytes).swap16() : bytes)
  const text = swapped(whole).toString('utf16le')
  // What claims to be UTF-16 often is not.
  if (!text.includes('<')) return null
  return {
    text,
    unit: 2,
    decode: (start, end) => text.slice(start, end).toWellFormed(),
    encode: (ascii) => swapped(Buffer.from(ascii, 'utf16le')),
  }
}

/** Null if the bytes do not fit the charset. */
function decodedBy(decoder: TextDecoder | null, bytes: Buffer): string | null {
  try {
    return decoder?.decode(bytes) ?? null
  } catch {
    return null
  }
}

function decoderOf(name: string): TextDecoder | null {
  try {
    return new TextDecoder(name === '' ? 'utf-8' : name, { fatal: true })
  } catch {
    return null
  }
}
