import { createPrivateKey, hash, type KeyObject, sign } from 'node:crypto'
import { SternaError } from '../errors.ts'
import type { SigningKey } from './attempt.ts'
import { relaxedBodyHash } from './dkim-body-hash.ts'

/** Signed as often as present and once more, so that nobody can add another after us (RFC 6376 5.4.2, 8.15). */
const oversigned = [
  'From',
  'To',
  'Subject',
  'Date',
  'Message-ID',
  'Reply-To',
  'Content-Type',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'List-Id',
]

const signedWhenPresent = [
  'Cc',
  'Sender',
  'MIME-Version',
  'Content-Transfer-Encoding',
  'In-Reply-To',
  'References',
  'List-Help',
  'List-Subscribe',
  'List-Post',
  'List-Owner',
  'List-Archive',
  'Feedback-ID',
]

const signedNames = new Set([...oversigned, ...signedWhenPresent].map((name) => name.toLowerCase()))

const validSeconds = 7 * 86_400
/** How long a signature is good for, ms: a captured message cannot be replayed for ever (RFC 6376 8.6). */
export const signatureLifetimeMs = validSeconds * 1000
const smallestRsaBits = 2048

/**
 * Signs messages with DKIM, relaxed/relaxed over the bytes as they leave (RFC 6376, RFC 8463). Private keys are given
 * once, under the id that a `SigningKey` names; the body is hashed once for all signatures of a message.
 */
export class DkimSigner {
  readonly #keys = new Map<string, KeyObject>()

  /**
   * @param pkcs8Der the private key, PKCS #8 in DER
   * @throws SternaError `configuration` where it is no RSA key of at least 2048 bits (RFC 8301) and no Ed25519 key
   */
  addKey(id: string, pkcs8Der: Uint8Array): void {
    const key = privateKeyOf(id, pkcs8Der)
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
    if (key.asymmetricKeyType === 'ed25519' || (key.asymmetricKeyType === 'rsa' && bits >= smallestRsaBits)) {
      this.#keys.set(id, key)
      return
    }
    const what = key.asymmetricKeyType === 'rsa' ? `an RSA key of ${bits} bits` : `a key of type ${key.asymmetricKeyType}`
    throw new SternaError(
      'configuration',
      `DKIM key ${id} is ${what}; use RSA with at least ${smallestRsaBits} bits, or Ed25519.`,
    )
  }

  /** Forgets a key that nothing is signed with any more. */
  dropKey(id: string): void {
    this.#keys.delete(id)
  }

  /**
   * The DKIM-Signature header fields to be put before the message, one for each key in the order given, each with its
   * CRLF. RSA and Ed25519 are computed at the same time on the thread pool.
   * @param content the message, CRLF line ends; may lie in shared memory
   * @param now epoch, ms
   */
  async sign(content: Uint8Array, keys: SigningKey[], now: number): Promise<string> {
    if (keys.length === 0) return ''
    const { header, body } = split(content)
    const { names, text } = relaxedHeader(header)
    const bodyHash = relaxedBodyHash(body)
    const fields = keys.map((key) => this.#signatureField(key, { names, text, bodyHash, now }))
    return (await Promise.all(fields)).join('')
  }

  async #signatureField(
    key: SigningKey,
    signed: { names: string[]; text: string; bodyHash: string; now: number },
  ): Promise<string> {
    const privateKey = this.#keys.get(key.id)
    if (!privateKey) throw new SternaError('internal_server_error', `DKIM key ${key.id} was used before it was handed over.`)
    const at = Math.floor(signed.now / 1000)
    const field = foldTags([
      'v=1',
      `a=${key.algorithm}`,
      'c=relaxed/relaxed',
      `d=${key.signingDomain}`,
      `s=${key.selector}`,
      `t=${at}`,
      `x=${at + validSeconds}`,
      `h=${signed.names.join(':')}`,
      `bh=${signed.bodyHash}`,
      'b=',
    ])
    const input = Buffer.from(`${signed.text}${relaxedField(field).text}`, 'latin1')
    return `${field}${foldSignature(await signatureOf(input, key.algorithm, privateKey))}\r\n`
  }
}

function privateKeyOf(id: string, pkcs8Der: Uint8Array): KeyObject {
  try {
    return createPrivateKey({ key: Buffer.from(pkcs8Der), format: 'der', type: 'pkcs8' })
  } catch (error) {
    throw new SternaError('configuration', `DKIM key ${id} is not a private key in PKCS #8.`, { cause: error })
  }
}

const signatureOf = (input: Buffer, algorithm: SigningKey['algorithm'], key: KeyObject): Promise<string> =>
  new Promise((resolve, reject) => {
    const done = (error: Error | null, signature: Buffer): void => (error ? reject(error) : resolve(signature.toString('base64')))
    if (algorithm === 'rsa-sha256') sign('sha256', input, key, done)
    // RFC 8463 3: Ed25519 signs the SHA-256 of the header, not the header.
    else sign(null, hash('sha256', input, 'buffer'), key, done)
  })

/** The header, in latin1 so that every byte survives, and the body. Without an empty line all of it is header. */
function split(content: Uint8Array): { header: string; body: Uint8Array } {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (bytes.length >= 2 && bytes[0] === 13 && bytes[1] === 10) return { header: '', body: bytes.subarray(2) }
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return { header: bytes.toString('latin1'), body: bytes.subarray(bytes.length) }
  return { header: bytes.toString('latin1', 0, end), body: bytes.subarray(end + 4) }
}

/** What h= lists, and the fields it stands for: of each name the last instance first (RFC 6376 5.4.2). */
function relaxedHeader(header: string): { names: string[]; text: string } {
  const instances = new Map<string, string[]>()
  for (const line of header.split(/\r\n(?![ \t])/)) {
    const colon = line.indexOf(':')
    if (colon === -1 || !signedNames.has(nameOf(line, colon))) continue
    const { name, text } = relaxedField(line)
    const known = instances.get(name)
    if (known) known.unshift(text)
    else instances.set(name, [text])
  }
  const names: string[] = []
  let text = ''
  const add = (name: string, more: number): void => {
    const fields = instances.get(name.toLowerCase()) ?? []
    for (let i = 0; i < fields.length + more; i++) names.push(name)
    for (const field of fields) text += `${field}\r\n`
  }
  for (const name of oversigned) add(name, 1)
  for (const name of signedWhenPresent) add(name, 0)
  return { names, text }
}

/** Lower case, without the white space that may stand before the colon; CRLF of a folded one included. */
function nameOf(line: string, colon: number): string {
  let end = colon
  while (end > 0 && ' \t\r\n'.includes(line.charAt(end - 1))) end--
  return line.slice(0, end).toLowerCase()
}

/** RFC 6376 3.4.2, where white space is SP and TAB and nothing else; without the final CRLF. */
function relaxedField(line: string): { name: string; text: string } {
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

const longestLine = 78

/** The field up to `b=`, folded between tags and, within h=, after a colon. */
function foldTags(tags: string[]): string {
  let field = 'DKIM-Signature:'
  let length = field.length
  tags.forEach((tag, i) => {
    const words = tag.startsWith('h=') ? tag.split(/(?<=:)/) : [tag]
    words.forEach((word, j) => {
      const text = j === words.length - 1 && i < tags.length - 1 ? `${word};` : word
      const space = j === 0 ? 1 : 0
      // The signature begins a line of its own.
      if (length + space + text.length > longestLine || tag === 'b=') {
        field += `\r\n ${text}`
        length = 1 + text.length
      } else {
        field += (space ? ' ' : '') + text
        length += space + text.length
      }
    })
  })
  return field
}

/** Behind ` b=` on the first line, ` ` on the others. */
function foldSignature(signature: string): string {
  let text = signature.slice(0, longestLine - 3)
  for (let from = longestLine - 3; from < signature.length; from += longestLine - 1) {
    text += `\r\n ${signature.slice(from, from + longestLine - 1)}`
  }
  return text
}
