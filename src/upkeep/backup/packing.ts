import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
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

function encrypted(content: Readable, recipients: readonly string[]): Readable {
  return later(content, async () => {
    const { Encrypter } = await import('age-encryption')
    const encrypter = new Encrypter()
    for (const recipient of recipients) encrypter.addRecipient(recipient)
    return encrypter.encrypt(webStream(content))
  })
}

function decrypted(content: Readable, name: string, identities: readonly string[]): Readable {
  if (identities.length === 0) {
    content.destroy()
    throw new SternaError('invalid_state', `${name} is encrypted. Name the file with its age identity: --identity FILE.`)
  }
  return later(content, async () => {
    const { Decrypter } = await import('age-encryption')
    const decrypter = new Decrypter()
    for (const identity of identities) decrypter.addIdentity(identity)
    try {
      return await decrypter.decrypt(webStream(content))
    } catch (error) {
      if (!messageOf(error).startsWith('no identity matched')) throw error
      const fault = `${name} is encrypted for others: the age identity given with --identity does not open it. Name the right one.`
      throw new SternaError('invalid_state', fault, { cause: error })
    }
  })
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
