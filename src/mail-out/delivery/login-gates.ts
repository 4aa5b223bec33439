import { lastUsed } from '../../platform/last-used.ts'
import { smarthostKey, type Smarthost } from './smarthost.ts'
import { LoginGate } from './smarthost-login.ts'

/** Why a smarthost, as it was when its mail set out, refuses our login; null: it does not. Without `id`: the one of the settings. */
export interface LoginNews extends Pick<Smarthost, 'id' | 'revision'> {
  refusal: string | null
}

/** There may be as many smarthosts; mail may be under way by what some of them were before. */
const maxGates = 2000

/** The gate of each smarthost: what one refuses says nothing about another, nor about what an operator has corrected since. */
export class LoginGates {
  readonly #told: (news: LoginNews) => void
  readonly #gates = lastUsed<LoginGate>(maxGates)

  constructor(told: (news: LoginNews) => void) {
    this.#told = told
  }

  of({ id, revision }: Pick<Smarthost, 'id' | 'revision'>): LoginGate {
    const key = smarthostKey({ id, revision })
    const known = this.#gates.get(key)
    if (known) return known
    const gate = new LoginGate((refusal) => this.#told({ id, revision, refusal }))
    this.#gates.set(key, gate)
    return gate
  }
}
