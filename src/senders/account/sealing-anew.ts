import type { BaseServices } from '../../platform/base-services.ts'
import { WorkLoop } from '../../platform/store/work-loop.ts'
import type { KeyRing } from './key-ring.ts'
import { sealAnew } from './sealed-secrets.ts'

/** By then a node has stored whatever it sealed before it heard of a new key, ms. */
const storedMs = 60_000

interface SealingServices extends Pick<BaseServices, 'db' | 'clock' | 'changes' | 'log'> {
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
  /** When to look once more, by the steady clock, ms. */
  #againAt = Infinity

  constructor(services: SealingServices) {
    this.#services = services
    this.#loop = new WorkLoop(services.log, {
      run: () => this.#run(),
      fault: 'some stored secrets could not be sealed with the new secret key',
    })
  }

  /** Looks at what is left if another key is in use than before, and once more a moment later. */
  look(): void {
    if (this.#isDue) this.#loop.wake()
  }

  get #isDue(): boolean {
    return this.#services.secrets.used !== this.#allSealedWith || this.#services.clock.steady() >= this.#againAt
  }

  /** Ends after the piece at hand. */
  async stop(): Promise<void> {
    this.#isOver = true
    this.#stopped.resolve()
    await this.#loop.stop()
  }

  async #run(): Promise<void> {
    const { db, clock, changes, secrets, log } = this.#services
    const { used } = secrets
    if (!this.#isDue) return
    const isFirst = used !== this.#allSealedWith
    if (secrets.generations.length > 1) {
      // Nodes that do not know of the key yet still seal with the one before.
      await Promise.race([changes.seenByAll(), this.#stopped.promise])
      let count = 0
      for (let last = Infinity; last > 0; count += last) last = await sealAnew(db, secrets, () => this.#isOver)
      if (this.#isOver) return
      if (count > 0) log.info({ secrets: count }, 'all stored secrets are sealed with the secret key in use')
    }
    this.#allSealedWith = used
    this.#againAt = isFirst && secrets.generations.length > 1 ? clock.steady() + storedMs : Infinity
  }
}
