import { X509Certificate, createPrivateKey } from 'node:crypto'
import { mkdir, readFile, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import { messageOf } from '../errors.ts'
import { replaceFileLater } from '../durable-file.ts'
import { isoTime } from '../iso-time.ts'
import type { Log } from '../log.ts'
import { sessionIdContext } from './ticket-keys.ts'

/** A certificate that an authority issued to us. */
export interface IssuedCertificate {
  /** PEM, the chain. */
  cert: string
  /** PEM */
  key: string
  /** Epoch, ms. */
  validFrom: number
  expiresAt: number
  /** SHA-256, as clients show it. */
  fingerprint: string
}

interface Kept extends IssuedCertificate {
  /** Made when the first client asks for it. */
  context: SecureContext | null
}

/** The file of a name: chain and key together, so that one replacement renews both. */
export const issuedFile = (directory: string, name: string): string => join(directory, `${name}.pem`)

const fileName = /^([a-z0-9.-]{1,240})\.pem$/
const cannotBeUsed = 'a stored certificate cannot be used, and is ordered again'
/** bytes */
const maxFileBytes = 256 * 1024

/** The issued certificates by name: on disk, and in memory. */
export class IssuedCertificates {
  readonly #directory: string
  readonly #log: Log
  readonly #byName = new Map<string, Kept>()

  constructor(directory: string, log: Log) {
    this.#directory = directory
    this.#log = log
  }

  /** Never fails because of a file: a certificate that cannot be used is ordered again. */
  async load(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    for (const file of await readdir(this.#directory)) {
      const name = fileName.exec(file)?.[1]
      if (name === undefined) continue
      try {
        this.#byName.set(name, await this.#read(name))
      } catch (error) {
        this.#log.warn({ file: join(this.#directory, file), problem: messageOf(error) }, cannotBeUsed)
      }
    }
  }

  async #read(name: string): Promise<Kept> {
    const file = issuedFile(this.#directory, name)
    if ((await stat(file)).size > maxFileBytes) throw new Error('the file is too large')
    const text = await readFile(file, 'utf8')
    const keyAt = text.search(/-----BEGIN [A-Z ]*PRIVATE KEY-----/)
    if (keyAt === -1) throw new Error('the file has no key')
    return { ...certificateFor(name, text.slice(0, keyAt), text.slice(keyAt)), context: null }
  }

  /**
   * Writes a new certificate to disk, and uses it from then on.
   * @throws Error if it is not for this name and key, or not valid now
   */
  async keep(name: string, { chain, key }: { chain: string; key: string }, now: number): Promise<IssuedCertificate> {
    const certificate = { ...certificateFor(name, chain, key), context: createSecureContext({ cert: chain, key, sessionIdContext }) }
    if (certificate.expiresAt <= now) throw new Error(`the new certificate expired at ${isoTime(certificate.expiresAt)}: check the clock`)
    await replaceFileLater(issuedFile(this.#directory, name), `${chain.trimEnd()}\n${key}`)
    this.#byName.set(name, certificate)
    return certificate
  }

  get names(): string[] {
    return [...this.#byName.keys()]
  }

  get(name: string): IssuedCertificate | null {
    return this.#byName.get(name) ?? null
  }

  async forget(name: string): Promise<void> {
    this.#byName.delete(name)
    await rm(issuedFile(this.#directory, name), { force: true })
  }

  /** For handshakes with clients that ask for this name; undefined if there is no valid certificate for it. */
  contextFor(name: string, now: number): SecureContext | undefined {
    const kept = this.#byName.get(name)
    if (!kept || kept.expiresAt <= now) return undefined
    try {
      return (kept.context ??= createSecureContext({ cert: kept.cert, key: kept.key, sessionIdContext }))
    } catch (error) {
      // Only this reads the rest of the chain.
      this.#byName.delete(name)
      this.#log.warn({ name, problem: messageOf(error) }, cannotBeUsed)
      return undefined
    }
  }
}

function certificateFor(name: string, cert: string, key: string): IssuedCertificate {
  const parsed = new X509Certificate(cert)
  if (!parsed.checkPrivateKey(createPrivateKey(key))) throw new Error('the key does not belong to the certificate')
  if (parsed.checkHost(name) === undefined) throw new Error(`the certificate is not for ${name}`)
  return { cert, key, validFrom: Date.parse(parsed.validFrom), expiresAt: Date.parse(parsed.validTo), fingerprint: parsed.fingerprint256 }
}
