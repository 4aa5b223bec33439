import type { LoginNews } from '../../mail-out/delivery/login-gates.ts'
import type { Smarthosts } from '../../mail-out/smarthost/smarthosts.ts'
import type { Health } from '../../platform/health.ts'

/** Tells the operator which smarthosts refuse our login, until they take it or are changed. */
export class SmarthostRefusals {
  readonly #services: { health: Health; smarthosts: Pick<Smarthosts, 'find'> }
  /** By id. */
  readonly #refusals = new Map<string, { reason: string; revision: number | undefined }>()

  constructor(services: { health: Health; smarthosts: Pick<Smarthosts, 'find'> }) {
    this.#services = services
  }

  note({ id, revision, refusal: reason }: LoginNews): void {
    const { health, smarthosts } = this.#services
    if (id === undefined) return health.set('smarthost_login', reason !== null, { reason })
    // Mail that set out before a change says nothing of what the smarthost is now.
    if (smarthosts.find(id)?.revision !== revision) return
    if (reason === null) this.#refusals.delete(id)
    else this.#refusals.set(id, { reason, revision })
    this.forgetChanged()
  }

  /** What one has refused before it was changed or removed says nothing any more. */
  forgetChanged(): void {
    const { health, smarthosts } = this.#services
    const problems: string[] = []
    for (const [id, { reason, revision }] of this.#refusals) {
      const now = smarthosts.find(id)
      if (now?.revision === revision) problems.push(`${now?.name}: ${reason}`)
      else this.#refusals.delete(id)
    }
    health.set('smarthost_refuses', problems.length > 0, { problem: problems.join('; ') })
  }
}
