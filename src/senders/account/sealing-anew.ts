import type { BaseServices } from '../../platform/base-services.ts'
import { WorkLoop } from '../../platform/store/work-loop.ts'
import type { KeyRing } from './key-ring.ts'
import { sealAnew } from './sealed-secrets.ts'

interface SealingServices extends Pick<BaseServices, 'db' | 'changes' | 'log'> {
  secrets: KeyRing
}

/**
 * Seals with the key in use what earlier keys sealed, until nothing of that is left: after each start, as it may have been interrupted, and
 * whenever another key is in use. Meanwhile everything is opened with the keys of the file as before.
 */
export class SealingAnew {
  readonly #services: SealingServices
  readonly #loop: WorkLoop
  readonly #stopped = Promise.withResolvers<void>()
  #isOver = false
  /** The key in use when nothing was left; null: not known. */
  #allSealedWith: string | null = null

  constructor(services: SealingServices) {
    this.#services = services
    this.#loop = new WorkLoop(services.log, {
      run: () => this.#run(),
      fault: 'some stored secrets could not be sealed with the new secret key',
    })
  }

  /** Looks at what is left if another key is in use than before. */
  look(): void {
    if (this.#services.secrets.used !== this.#allSealedWith) this.#loop.wake()
  }

  /** Ends after the piece at hand. */
  async stop(): Promise<void> {
    this.#isOver = true
    this.#stopped.resolve()
    await this.#loop.stop()
  }

  async #run(): Promise<void> {
    const { db, changes, secrets, log } = this.#services
    const { used } = secrets
    if (used === this.#allSealedWith) return
    if (secrets.generations.length > 1) {
      // Nodes that do not know of the key yet still seal with the one before.
      await Promise.race([changes.seenByAll(), this.#stopped.promise])
      let count = 0
      for (let last = Infinity; last > 0; count += last) last = await sealAnew(db, secrets, () => this.#isOver)
      if (this.#isOver) return
      if (count > 0) log.info({ secrets: count }, 'all stored secrets are sealed with the secret key in use')
    }
    this.#allSealedWith = used
  }
}
