import type { ReturnedMailSource, ReturnedMailStore, ReturnPathPurpose } from './returned-mail-store.ts'

/**
 * Decides whose mail is settled next. Turns alternate between the networks that mail comes from and the accounts it is about, so that
 * neither a flood on one account from many networks nor a flood on many accounts from one network holds up the others. A message waits for
 * at most one turn of each other network or each other account, whichever is sooner.
 */
export class ReturnedMailScheduler {
  readonly #returnedMail: Pick<ReturnedMailStore, 'nextSource'>
  readonly #purpose: ReturnPathPurpose
  #by: ReturnedMailSource['by'] = 'account'
  /** Who had the last turn. */
  readonly #last = { network: '', account: '' }

  constructor(returnedMail: Pick<ReturnedMailStore, 'nextSource'>, purpose: ReturnPathPurpose) {
    this.#returnedMail = returnedMail
    this.#purpose = purpose
  }

  /** The next source with mail that is due; null if there is none. */
  async next(): Promise<ReturnedMailSource | null> {
    const by = (this.#by = this.#by === 'account' ? 'network' : 'account')
    const name = (await this.#after(this.#last[by])) ?? (await this.#after(''))
    this.#last[by] = name ?? ''
    return name === null ? null : { by, name }
  }

  #after(name: string): Promise<string | null> {
    return this.#returnedMail.nextSource(this.#purpose, { by: this.#by, name })
  }
}
