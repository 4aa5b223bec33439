import { relaxedBodyHash } from './dkim-body-hash.ts'

/** Listed once more than present, so nobody can add another after us (RFC 6376 5.4.2, 8.15). */
const oversigned = [
  'From',
  'To',
  'Subject',
  'Date',
  'Message-ID',
  'Reply-To',
  'Cc',
  'Sender',
  'In-Reply-To',
  'References',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'List-Id',
  'Feedback-ID',
]

const signedWhenPresent = ['List-Help', 'List-Subscribe', 'List-Post', 'List-Owner', 'List-Archive']

/** `more`: how many more than present are listed. */
const signed = [...oversigned.map((name) => ({ name, more: 1 })), ...signedWhenPresent.map((name) => ({ name, more: 0 }))].map((each) => ({
  ...each,
  key: each.name.toLowerCase(),
}))
const places = new Map(signed.map(({ key }, place) => [key, place]))

/** The fields to be signed, by the place of their name in `signed`. */
interface Instances {
  counts: number[]
  /** The last instance first, each in canonical form with its CRLF. */
  texts: string[]
}

const noCounts = signed.map(() => 0)
const noTexts = signed.map(() => '')

/** What h= lists if a message has so many fields of each name. */
export const signedNames = (counts: number[]): string =>
  signed.flatMap(({ name, more }, place) => Array.from({ length: (counts[place] ?? 0) + more }, () => name)).join(':')

/** A message to be signed: its header is parsed once and its body hashed once, however many signatures it gets. */
export class SignableMessage {
  /** The names of all header fields, in lower case. */
  readonly names: string[] = []
  readonly #body: Uint8Array
  readonly #instances: Instances
  #bodyHash: string | null = null

  /** @param content the message, CRLF line ends; may be in shared memory */
  constructor(content: Uint8Array) {
    const { header, body } = split(content)
    this.#body = body
    this.#instances = signedInstances(header, (name) => this.names.push(name))
  }

  get bodyHash(): string {
    return (this.#bodyHash ??= relaxedBodyHash(this.#body))
  }

  /**
   * The fields to be signed: of each name the last instance first (RFC 6376 5.4.2). `counts`: see `signedNames`.
   * @param fields whole header fields that are put before the message
   */
  relaxedHeader(fields: string): { counts: number[]; text: string } {
    const before = signedInstances(fields)
    const { counts, texts } = this.#instances
    let text = ''
    for (let place = 0; place < signed.length; place++) text += (texts[place] ?? '') + (before.texts[place] ?? '')
    return { counts: before.counts.map((count, place) => count + (counts[place] ?? 0)), text }
  }
}

function signedInstances(header: string, found?: (name: string) => void): Instances {
  const counts = noCounts.slice()
  const texts = noTexts.slice()
  for (let start = 0; start < header.length;) {
    const end = endOfField(header, start)
    const colon = header.indexOf(':', start)
    if (colon !== -1 && colon < end) {
      const name = nameOf(header, start, colon)
      found?.(name)
      const place = places.get(name)
      if (place !== undefined) {
        counts[place] = (counts[place] ?? 0) + 1
        texts[place] = `${name}:${relaxedValue(header.slice(colon + 1, end))}\r\n${texts[place] ?? ''}`
      }
    }
    start = end + 2
  }
  return { counts, texts }
}

/** Where the field that begins at `start` ends, before its CRLF. */
function endOfField(header: string, start: number): number {
  for (let from = start; ;) {
    const end = header.indexOf('\r\n', from)
    if (end === -1) return header.length
    if (!isBlank(header.charCodeAt(end + 2))) return end
    from = end + 2
  }
}

const isBlank = (code: number): boolean => code === 32 || code === 9

/** The header, in latin1 so that every byte survives, and the body. Without an empty line everything is header. */
function split(content: Uint8Array): { header: string; body: Uint8Array } {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (bytes.length >= 2 && bytes[0] === 13 && bytes[1] === 10) return { header: '', body: bytes.subarray(2) }
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return { header: bytes.toString('latin1'), body: bytes.subarray(bytes.length) }
  return { header: bytes.toString('latin1', 0, end), body: bytes.subarray(end + 4) }
}

/** Lower case, without white space before the colon, including the CRLF of a folded one. */
function nameOf(header: string, start: number, colon: number): string {
  let end = colon
  while (end > start && ' \t\r\n'.includes(header.charAt(end - 1))) end--
  return header.slice(start, end).toLowerCase()
}

const rewritten = /\t| {2}|\r\n/

/** RFC 6376 3.4.2, where white space is only SP and TAB. */
function relaxedValue(text: string): string {
  const value = rewritten.test(text) ? text.replaceAll('\r\n', '').replace(/[ \t]+/g, ' ') : text
  const from = value.startsWith(' ') ? 1 : 0
  const to = value.length > from && value.endsWith(' ') ? -1 : undefined
  return value.slice(from, to)
}

/** A field without its final CRLF. */
export function relaxedField(field: string): string {
  const colon = field.indexOf(':')
  return `${nameOf(field, 0, colon)}:${relaxedValue(field.slice(colon + 1))}`
}
