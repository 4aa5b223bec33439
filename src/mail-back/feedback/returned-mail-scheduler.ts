import type { ReturnedMail, ReturnedMailStore, ReturnPathPurpose } from './returned-mail-store.ts'

/**
 * Decides whose mail is settled next. Turns alternate between the networks that mail comes from and the accounts it is about, so that
 * neither a flood on one account from many networks nor a flood on many accounts from one network holds up the others. A message waits for
 * at most one turn of each other network or each other account, whichever is sooner.
 */
export class ReturnedMailScheduler {
  readonly #returnedMail: Pick<ReturnedMailStore, 'nextSource' | 'waitingFrom'>
  readonly #purpose: ReturnPathPurpose
  #by: 'network' | 'account' = 'account'
  /** Who had the last turn. */
  readonly #last = { network: '', account: '' }
  /** Whether this round of accounts found anything to do, and whether accounts pause because the last round found nothing. */
  #hasDue = true
  #isResting = false

  constructor(returnedMail: Pick<ReturnedMailStore, 'nextSource' | 'waitingFrom'>, purpose: ReturnPathPurpose) {
    this.#returnedMail = returnedMail
    this.#purpose = purpose
  }

  /** The next source's oldest messages, at most `limit`; null when a round is over, that is, each network has had its turn. */
  async next(limit: number): Promise<ReturnedMail[] | null> {
    this.#by = this.#by === 'account' || this.#isResting ? 'network' : 'account'
    const by = this.#by
    const name = (await this.#after(this.#last[by])) ?? (by === 'account' ? await this.#firstAccount() : null)
    this.#last[by] = name ?? ''
    if (name !== null) return this.#returnedMail.waitingFrom(this.#purpose, { by, name }, limit)
    return by === 'network' ? null : []
  }

  /** Reports how many messages from `next` were due. The rest wait for another try. */
  took(due: number): void {
    if (this.#by === 'account' && due > 0) this.#hasDue = true
  }

  /** Call it when a message has arrived or is due again. */
  wake(): void {
    this.#hasDue = true
    this.#isResting = false
  }

  /** Null if accounts pause. Otherwise each network's turn would read everything that waits for another try. */
  async #firstAccount(): Promise<string | null> {
    this.#isResting = !this.#hasDue
    this.#hasDue = false
    return this.#isResting ? null : this.#after('')
  }

  #after(name: string): Promise<string | null> {
    return this.#returnedMail.nextSource(this.#purpose, { by: this.#by, name })
  }
}
