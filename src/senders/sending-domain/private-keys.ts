import type { Secrets } from '../account/key-file.ts'
import { SternaError } from '../../platform/errors.ts'

/** The private DKIM keys, in memory as they are stored: sealed. Opened keys are kept, because they sign every message. */
export class PrivateKeys {
  readonly #secrets: Secrets
  readonly #sealed = new Map<string, Uint8Array>()
  readonly #opened = new Map<string, Uint8Array>()
  /** Called with each key that is gone. */
  onGone: (id: string) => void = () => {}

  constructor(secrets: Secrets) {
    this.#secrets = secrets
  }

  seal(id: string, privateKey: Uint8Array): Uint8Array {
    return this.#secrets.seal(privateKey, contextOf(id))
  }

  /** From now on the key can be opened. */
  remember(sealedKeys: ReadonlyMap<string, Uint8Array>): void {
    for (const [id, sealed] of sealedKeys) this.#sealed.set(id, sealed)
  }

  forget(id: string): void {
    this.#sealed.delete(id)
    this.#opened.delete(id)
    this.onGone(id)
  }

  /**
   * The private key behind a signing key, PKCS #8 in DER.
   * @throws SternaError `not_found`; `configuration` if the key file is a different one
   */
  open(id: string): Uint8Array {
    const known = this.#opened.get(id)
    if (known) return known
    const sealed = this.#sealed.get(id)
    if (!sealed) throw new SternaError('not_found', `There is no DKIM key ${id}.`)
    const privateKey = this.#secrets.open(sealed, contextOf(id))
    this.#opened.set(id, privateKey)
    return privateKey
  }
}

const contextOf = (id: string): string => `dkim_key ${id}`
