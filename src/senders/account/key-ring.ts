import { fingerprintOf, hasKey, type KeyFile, type Secrets } from './key-file.ts'

/**
 * The keys of this process. It opens and verifies with all that its key file has, and seals and signs with the one that the database names,
 * which every node has. Both may change while it serves.
 */
export class KeyRing implements Secrets {
  #file: KeyFile
  /** What `#file` has replaced: the key that is taken into use just then may have been withdrawn with it. */
  #replaced: KeyFile | null = null
  #used: Secrets

  /** @param used null if the database names none: the newest of the file */
  constructor(file: KeyFile, used: string | null) {
    this.#file = file
    this.#used = (used === null ? null : file.usedWith(used)) ?? file
  }

  /** The fingerprint of the newest key of the file. */
  get newest(): string {
    return fingerprintOf(this.#file)
  }

  /** The fingerprint of the key that seals and signs. */
  get used(): string {
    return fingerprintOf(this.#used)
  }

  get generations(): Secrets['generations'] {
    return this.#used.generations
  }

  deriveKey(purpose: string): Buffer {
    return this.#used.deriveKey(purpose)
  }

  seal(plain: Uint8Array, context: string): Uint8Array {
    return this.#used.seal(plain, context)
  }

  open(sealed: Uint8Array, context: string): Uint8Array {
    return this.#used.open(sealed, context)
  }

  isCurrent(sealed: Uint8Array, context: string): boolean {
    return this.#used.isCurrent(sealed, context)
  }

  /**
   * Opens with what a file has now. False if that lacks the key in use or one that was in use before, and nothing has changed: what was sealed
   * with it may be stored. A newer key that was never in use may go again.
   */
  takeOver(file: KeyFile): boolean {
    const names = this.#file.generations.map((deriveKey) => fingerprintOf({ deriveKey }))
    if (!names.slice(names.indexOf(this.used)).every((name) => hasKey(file, name))) return false
    this.#used = file.usedWith(this.used) ?? file
    this.#replaced = this.#file
    this.#file = file
    return true
  }

  /** Seals and signs with this key from now on. False if neither the file has it nor the one before had, and nothing has changed. */
  use(fingerprint: string): boolean {
    const file = [this.#file, this.#replaced].find((each) => each && hasKey(each, fingerprint))
    const used = file?.usedWith(fingerprint)
    if (!file || !used) return false
    this.#file = file
    this.#used = used
    return true
  }
}
