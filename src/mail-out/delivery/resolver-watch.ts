import type { Clock } from '../../platform/clock.ts'
import type { Health } from '../../platform/health.ts'
import type { LookUp } from './find-route.ts'
import { ResolverTrust } from './resolver-trust.ts'

/** How often a doubt is checked again while there are no look-ups, ms. */
const againMs = 60_000

/** Watches what the name servers say, and warns the operator while they are not believed. */
export class ResolverWatch {
  readonly #clock: Clock
  readonly #health: Health
  readonly #trust = new ResolverTrust()
  #isSuspect = false
  #isWaiting = false

  constructor({ clock, health }: { clock: Clock; health: Health }) {
    this.#clock = clock
    this.#health = health
  }

  get isSuspect(): boolean {
    return this.#isSuspect
  }

  note(lookUp: LookUp): void {
    this.#trust.note(lookUp, this.#clock.steady())
    this.#look()
  }

  #look(): void {
    const doubt = this.#trust.doubt(this.#clock.steady())
    this.#isSuspect = doubt !== null
    this.#health.set('resolver_suspect', this.#isSuspect, { ...doubt })
    if (!this.#isSuspect || this.#isWaiting) return
    this.#isWaiting = true
    this.#clock.at(this.#clock.now() + againMs, () => {
      this.#isWaiting = false
      this.#look()
    })
  }
}
