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

const signedNames = new Set([...oversigned, ...signedWhenPresent].map((name) => name.toLowerCase()))

/** Fields by name: the last instance first, in canonical form. */
type Instances = Map<string, string[]>

/** A message to be signed: its header is parsed once and its body hashed once, however many signatures it gets. */
export class SignableMessage {
  /** The names of all header fields, in lower case. */
  readonly names = new Set<string>()
  readonly #body: Uint8Array
  readonly #instances: Instances
  #bodyHash: string | null = null

  /** @param content the message, CRLF line ends; may be in shared memory */
  constructor(content: Uint8Array) {
    const { header, body } = split(content)
    this.#body = body
    this.#instances = signedInstances(header, (name) => this.names.add(name))
  }

  get bodyHash(): string {
    return (this.#bodyHash ??= relaxedBodyHash(this.#body))
  }

  /**
   * What h= lists, and the fields for it: of each name the last instance first (RFC 6376 5.4.2).
   * @param fields whole header fields that are put before the message
   */
  relaxedHeader(fields: string): { names: string[]; text: string } {
    const before = signedInstances(fields)
    const names: string[] = []
    let text = ''
    const add = (name: string, more: number): void => {
      const lower = name.toLowerCase()
      const instances = [...(this.#instances.get(lower) ?? []), ...(before.get(lower) ?? [])]
      for (let i = 0; i < instances.length + more; i++) names.push(name)
      for (const field of instances) text += `${field}\r\n`
    }
    for (const name of oversigned) add(name, 1)
    for (const name of signedWhenPresent) add(name, 0)
    return { names, text }
  }
}

function signedInstances(header: string, found?: (name: string) => void): Instances {
  const instances: Instances = new Map()
  for (const line of header.split(/\r\n(?![ \t])/)) {
    const colon = line.indexOf(':')
    if (colon === -1) continue
    const name = nameOf(line, colon)
    found?.(name)
    if (!signedNames.has(name)) continue
    const { text } = relaxedField(line)
    const known = instances.get(name)
    if (known) known.unshift(text)
    else instances.set(name, [text])
  }
  return instances
}

/** The header, in latin1 so that every byte survives, and the body. Without an empty line everything is header. */
function split(content: Uint8Array): { header: string; body: Uint8Array } {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (bytes.length >= 2 && bytes[0] === 13 && bytes[1] === 10) return { header: '', body: bytes.subarray(2) }
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return { header: bytes.toString('latin1'), body: bytes.subarray(bytes.length) }
  return { header: bytes.toString('latin1', 0, end), body: bytes.subarray(end + 4) }
}

/** Lower case, without white space before the colon, including the CRLF of a folded one. */
function nameOf(line: string, colon: number): string {
  let end = colon
  while (end > 0 && ' \t\r\n'.includes(line.charAt(end - 1))) end--
  return line.slice(0, end).toLowerCase()
}

/** RFC 6376 3.4.2, where white space is only SP and TAB; without the final CRLF. */
export function relaxedField(line: string): { name: string; text: string } {
  const colon = line.indexOf(':')
  const name = nameOf(line, colon)
  const value = line
    .slice(colon + 1)
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
  const from = value.startsWith(' ') ? 1 : 0
  const to = value.length > from && value.endsWith(' ') ? -1 : undefined
  return { name, text: `${name}:${value.slice(from, to)}` }
}
