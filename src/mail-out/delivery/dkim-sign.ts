import { createPrivateKey, hash, type KeyObject, sign } from 'node:crypto'
import { lastUsed } from '../../platform/last-used.ts'
import { SternaError } from '../../platform/errors.ts'
import type { SigningKey } from './attempt.ts'
import { relaxedField, signedNames, type SignableMessage } from './dkim-header.ts'

const validSeconds = 7 * 86_400
/** How long a signature is valid, ms: a captured message cannot be replayed for ever (RFC 6376 8.6). */
export const signatureLifetimeMs = validSeconds * 1000
const smallestRsaBits = 2048

interface FieldValues {
  /** t= */
  at: string
  /** x= */
  until: string
  /** bh= */
  bodyHash: string
}

/** A signature field around its three values. */
type Pieces = readonly [string, string, string, string]

interface FieldTemplate {
  /** As it leaves. */
  folded: Pieces
  /** In canonical form. */
  relaxed: Pieces
}

/** What all signatures of a message share. */
interface Signed {
  /** The signed fields. */
  text: string
  /** See `signedNames`. */
  counts: number[]
  /** The counts as a text. */
  shape: string
  values: FieldValues
}

/** Messages from one program have the same fields, so few are needed. */
const maxTemplates = 200

/**
 * Signs messages with DKIM, relaxed/relaxed over the bytes as they leave (RFC 6376, RFC 8463). Private keys are handed over once, under the
 * id that a `SigningKey` names. The body is hashed once for all signatures of a message.
 */
export class DkimSigner {
  /** Why a key cannot be used, instead of the key. */
  readonly #keys = new Map<string, KeyObject | SternaError>()
  readonly #templates = lastUsed<FieldTemplate>(maxTemplates)

  /**
   * @param pkcs8Der the private key, PKCS #8 in DER
   * @throws SternaError `configuration` if it is neither an RSA key of at least 2048 bits (RFC 8301) nor an Ed25519 key
   */
  addKey(id: string, pkcs8Der: Uint8Array): void {
    const key = privateKeyOf(id, pkcs8Der)
    this.#keys.set(id, key)
    if (key instanceof SternaError) throw key
  }

  /** Forgets a key that signs nothing any more. */
  dropKey(id: string): void {
    this.#keys.delete(id)
  }

  /**
   * The DKIM-Signature header fields to put before the message, one per key in the given order, each with its CRLF. RSA runs on the thread
   * pool; Ed25519 takes 40 µs, and to hand it over half as long again.
   * @param by.fields whole header fields between the signatures and the message, which are signed too
   * @param by.now epoch, ms
   */
  async sign(message: SignableMessage, by: { fields: string; keys: SigningKey[]; now: number }): Promise<string> {
    if (by.keys.length === 0) return ''
    const { counts, text } = message.relaxedHeader(by.fields)
    const at = Math.floor(by.now / 1000)
    const values = { at: String(at), until: String(at + validSeconds), bodyHash: message.bodyHash }
    const signed = { text, counts, shape: counts.join(), values }
    return (await Promise.all(by.keys.map((key) => this.#signatureField(key, signed)))).join('')
  }

  #signatureField(key: SigningKey, signed: Signed): Promise<string> {
    return new Promise((resolve, reject) => {
      const privateKey = this.#keyFor(key)
      const { folded, relaxed } = this.#templateFor(key, signed)
      const input = Buffer.from(signed.text + filled(relaxed, signed.values), 'latin1')
      const done = (signature: Buffer): void =>
        resolve(`${filled(folded, signed.values)}${foldSignature(signature.toString('base64'))}\r\n`)
      if (key.algorithm === 'rsa-sha256') sign('sha256', input, privateKey, (error, signature) => (error ? reject(error) : done(signature)))
      // RFC 8463 3: Ed25519 signs the SHA-256 of the header, not the header.
      else done(sign(null, hash('sha256', input, 'buffer'), privateKey))
    })
  }

  #keyFor({ id }: SigningKey): KeyObject {
    const key = this.#keys.get(id)
    if (key instanceof SternaError) throw key
    if (!key) throw new SternaError('internal_server_error', `DKIM key ${id} was used before it was handed over.`)
    return key
  }

  /** Where a field is folded depends on the lengths of its values alone. */
  #templateFor({ algorithm, signingDomain, selector }: SigningKey, { counts, shape, values }: Signed): FieldTemplate {
    const id = `${algorithm} ${signingDomain} ${selector} ${values.at.length} ${values.until.length} ${shape}`
    const known = this.#templates.get(id)
    if (known) return known
    const field = foldTags([
      'v=1',
      `a=${algorithm}`,
      'c=relaxed/relaxed',
      `d=${signingDomain}`,
      `s=${selector}`,
      `t=${blankFor(values.at)}`,
      `x=${blankFor(values.until)}`,
      `h=${signedNames(counts)}`,
      `bh=${blankFor(values.bodyHash)}`,
      'b=',
    ])
    const template = { folded: piecesOf(field), relaxed: piecesOf(relaxedField(field)) }
    this.#templates.set(id, template)
    return template
  }
}

/** In the place of a value. */
const blankFor = (value: string): string => '\0'.repeat(value.length)
const blanks = /\0+/

const filled = ([first, second, third, last]: Pieces, { at, until, bodyHash }: FieldValues): string =>
  `${first}${at}${second}${until}${third}${bodyHash}${last}`

const piecesOf = (field: string): Pieces => field.split(blanks) as unknown as Pieces

function privateKeyOf(id: string, pkcs8Der: Uint8Array): KeyObject | SternaError {
  let key: KeyObject
  try {
    key = createPrivateKey({ key: Buffer.from(pkcs8Der), format: 'der', type: 'pkcs8' })
  } catch (error) {
    return new SternaError('configuration', `DKIM key ${id} is not a private key in PKCS #8.`, { cause: error })
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (key.asymmetricKeyType === 'ed25519' || (key.asymmetricKeyType === 'rsa' && bits >= smallestRsaBits)) return key
  const what = key.asymmetricKeyType === 'rsa' ? `an RSA key of ${bits} bits` : `a key of type ${key.asymmetricKeyType}`
  return new SternaError('configuration', `DKIM key ${id} is ${what}; use RSA with at least ${smallestRsaBits} bits, or Ed25519.`)
}

const maxLineLength = 78

/** The field up to `b=`, folded between tags and, within h=, after a colon. */
function foldTags(tags: string[]): string {
  let field = 'DKIM-Signature:'
  let length = field.length
  tags.forEach((tag, i) => {
    const words = tag.startsWith('h=') ? tag.split(/(?<=:)/) : [tag]
    words.forEach((word, j) => {
      const text = j === words.length - 1 && i < tags.length - 1 ? `${word};` : word
      const space = j === 0 ? 1 : 0
      // The signature starts on a new line.
      if (length + space + text.length > maxLineLength || tag === 'b=') {
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

/** After ` b=` on the first line, ` ` on the others. */
function foldSignature(signature: string): string {
  let text = signature.slice(0, maxLineLength - 3)
  for (let from = maxLineLength - 3; from < signature.length; from += maxLineLength - 1) {
    text += `\r\n ${signature.slice(from, from + maxLineLength - 1)}`
  }
  return text
}
