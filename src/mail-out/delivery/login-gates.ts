import type { Smarthost } from './smarthost.ts'
import { LoginGate } from './smarthost-login.ts'

/** Why a smarthost refuses our login; null: it does not. `smarthost`: its name; null: the one of the settings. */
export interface LoginNews {
  smarthost: string | null
  refusal: string | null
}

/** The gate of each smarthost: what one refuses says nothing about another, nor about what an operator has corrected since. */
export class LoginGates {
  readonly #told: (news: LoginNews) => void
  readonly #gates = new Map<string, { revision: number | undefined; gate: LoginGate }>()

  constructor(told: (news: LoginNews) => void) {
    this.#told = told
  }

  of({ name, revision }: Pick<Smarthost, 'name' | 'revision'>): LoginGate {
    const known = this.#gates.get(name ?? '')
    if (known && known.revision === revision) return known.gate
    const gate = new LoginGate((refusal) => this.#told({ smarthost: name ?? null, refusal }))
    this.#gates.set(name ?? '', { revision, gate })
    return gate
  }
}
