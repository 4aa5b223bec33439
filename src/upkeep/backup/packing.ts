import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { Decrypter, Encrypter, identityToRecipient } from 'age-encryption'
import { messageOf, SternaError } from '../../platform/errors.ts'

/** The end of a packed file's name: it says how to open it without Sterna, with `age -d` and `zstd -d`. */
export const packedEnd = (recipients: readonly string[]): string => (recipients.length > 0 ? '.zst.age' : '.zst')

/** Compresses content, and encrypts it for the holders of the identities (age-encryption.org/v1) if there are recipients. */
export function pack(content: Readable, recipients: readonly string[], effort: 'usual' | 'fast' = 'usual'): Readable {
  const params = { [constants.ZSTD_c_checksumFlag]: 1, [constants.ZSTD_c_compressionLevel]: effort === 'fast' ? 1 : 3 }
  const compressed = joined(content, createZstdCompress({ params }))
  return recipients.length === 0 ? compressed : encrypted(compressed, recipients)
}

/**
 * Undoes what a file's name says was done to it.
 * @param identities of age, `AGE-SECRET-KEY-1…`
 */
export function unpack(content: Readable, name: string, identities: readonly string[]): Readable {
  const opened = name.endsWith('.age') ? decrypted(content, name, identities) : content
  return /\.zst(?:\.age)?$/.test(name) ? joined(opened, createZstdDecompress()) : opened
}

/**
 * The identities in a file as age-keygen(1) writes it.
 * @param file names it in errors
 * @throws SternaError `invalid_parameter` if it has none, or what is not one. It is not quoted: a mistyped one is nearly a secret
 */
export function identitiesIn(text: string, file: string): string[] {
  const lines = text.split('\n').map((line) => line.trim())
  const isContent = (line: string): boolean => line !== '' && !line.startsWith('#')
  const identities = lines.filter(isContent)
  const bad = lines.findIndex((line) => isContent(line) && !isIdentity(line))
  if (bad < 0 && identities.length > 0) return identities
  const fault = identities.length === 0 ? 'has no age identity' : `is not a file of age identities: line ${bad + 1} cannot be read`
  throw new SternaError('invalid_parameter', `${file} ${fault}. An identity begins with AGE-SECRET-KEY-.`)
}

function isIdentity(line: string): boolean {
  try {
    new Decrypter().addIdentity(line)
    return true
  } catch {
    return false
  }
}

export { generateIdentity } from 'age-encryption'
/** The recipient, `age1…`, whose content an identity opens. */
export const recipientOf = (identity: string): Promise<string> => identityToRecipient(identity)

function encrypted(content: Readable, recipients: readonly string[]): Readable {
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  return later(content, () => encrypter.encrypt(webStream(content)))
}

function decrypted(content: Readable, name: string, identities: readonly string[]): Readable {
  if (identities.length === 0) {
    content.destroy()
    throw new SternaError('invalid_state', `${name} is encrypted. Name the file with its age identity: --identity FILE.`)
  }
  const decrypter = new Decrypter()
  for (const identity of identities) decrypter.addIdentity(identity)
  return later(content, () =>
    decrypter.decrypt(webStream(content)).catch((error: unknown) => {
      if (!messageOf(error).startsWith('no identity matched')) throw error
      const fault = `${name} is encrypted for others: the age identity given with --identity does not open it. Name the right one.`
      throw new SternaError('invalid_state', fault, { cause: error })
    }),
  )
}

const webStream = (content: Readable): globalThis.ReadableStream<Uint8Array> =>
  Readable.toWeb(content) as unknown as globalThis.ReadableStream<Uint8Array>

/** The stream that is opened once somebody reads. */
function later(source: Readable, opened: () => Promise<globalThis.ReadableStream<Uint8Array>>): Readable {
  return Readable.from(
    (async function* () {
      try {
        yield* (await opened()) as unknown as ReadableStream<Uint8Array>
      } catch (error) {
        if (error instanceof SternaError) throw error
        throw new Error(`age: ${messageOf(error)}`, { cause: error })
      } finally {
        source.destroy()
      }
    })(),
    { objectMode: false },
  )
}

/** Like `pipe`, but a failure reaches the reader. */
function joined<T extends NodeJS.ReadWriteStream & Readable>(content: Readable, next: T): T {
  content.on('error', (error) => next.destroy(error))
  next.on('close', () => content.destroy())
  return content.pipe(next)
}
