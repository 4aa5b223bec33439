import type { LoginNews } from '../../mail-out/delivery/login-gates.ts'
import type { Smarthosts } from '../../mail-out/smarthost/smarthosts.ts'
import type { Health } from '../../platform/health.ts'

/** Tells the operator which smarthosts refuse our login, until they take it or are changed. */
export class SmarthostRefusals {
  readonly #services: { health: Health; smarthosts: Pick<Smarthosts, 'find'> }
  /** By name. */
  readonly #refusals = new Map<string, { reason: string; revision: number | undefined }>()

  constructor(services: { health: Health; smarthosts: Pick<Smarthosts, 'find'> }) {
    this.#services = services
  }

  note({ smarthost, refusal: reason }: LoginNews): void {
    const { health, smarthosts } = this.#services
    if (smarthost === null) return health.set('smarthost_login', reason !== null, { reason })
    if (reason === null) this.#refusals.delete(smarthost)
    else this.#refusals.set(smarthost, { reason, revision: smarthosts.find(smarthost)?.revision })
    this.forgetChanged()
  }

  /** What one has refused before it was changed or removed says nothing any more. */
  forgetChanged(): void {
    const { health, smarthosts } = this.#services
    for (const [name, { revision }] of this.#refusals) {
      const now = smarthosts.find(name)
      if (!now || now.revision !== revision) this.#refusals.delete(name)
    }
    const problem = [...this.#refusals].map(([name, { reason }]) => `${name}: ${reason}`).join('; ')
    health.set('smarthost_refuses', this.#refusals.size > 0, { problem })
  }
}
