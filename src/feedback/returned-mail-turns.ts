import type { ReturnedMail, ReturnedMailStore, ReturnPathPurpose } from './returned-mail-store.ts'

/**
 * Whose reports of one purpose are taken next: by turns, one network that they come from after the other, and in between one
 * account after the other whose mail they are about. Whoever floods one account from many networks, or many accounts from one
 * network, has one of the two against him: a report waits for one turn of each other network, or of each other account,
 * whichever comes first.
 */
export class ReturnedMailTurns {
  readonly #returnedMail: Pick<ReturnedMailStore, 'nextSource' | 'waitingFrom'>
  readonly #purpose: ReturnPathPurpose
  #by: 'network' | 'account' = 'account'
  /** Who had the last turn. */
  readonly #last = { network: '', account: '' }
  /** Whether something of this round of the accounts was due, and whether they rest, since nothing of the one before was. */
  #hasDue = true
  #isResting = false

  constructor(returnedMail: Pick<ReturnedMailStore, 'nextSource' | 'waitingFrom'>, purpose: ReturnPathPurpose) {
    this.#returnedMail = returnedMail
    this.#purpose = purpose
  }

  /** The oldest reports, at most `limit`, of who is next; null where a round is over: each network has had its turn. */
  async next(limit: number): Promise<ReturnedMail[] | null> {
    this.#by = this.#by === 'account' || this.#isResting ? 'network' : 'account'
    const by = this.#by
    const name = (await this.#after(this.#last[by])) ?? (by === 'account' ? await this.#firstAccount() : null)
    this.#last[by] = name ?? ''
    if (name !== null) return this.#returnedMail.waitingFrom(this.#purpose, { by, name }, limit)
    return by === 'network' ? null : []
  }

  /** To be told how many of those that `next` gave were due; others wait for another look. */
  took(due: number): void {
    if (this.#by === 'account' && due > 0) this.#hasDue = true
  }

  /** To be called when one has come in, or is due again. */
  wake(): void {
    this.#hasDue = true
    this.#isResting = false
  }

  /** Null where accounts are to rest: or else all that wait for another look would be read at the turn of each network. */
  async #firstAccount(): Promise<string | null> {
    this.#isResting = !this.#hasDue
    this.#hasDue = false
    return this.#isResting ? null : this.#after('')
  }

  #after(name: string): Promise<string | null> {
    return this.#returnedMail.nextSource(this.#purpose, { by: this.#by, name })
  }
}
