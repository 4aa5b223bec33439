import { DueTimes } from '../../platform/due-times.ts'

export interface AccountTurn {
  accountId: string
  /** How many other accounts have due mail. */
  others: number
}

/**
 * The accounts whose mail waits for one destination. Those whose mail is due take turns, however old it is, and however much. At most
 * destinations only one waits, so only several have lists.
 */
export class AccountTurns {
  /** The only one that waits; null if none does, or several do. */
  #only: string | null = null
  #onlyDueAt = Infinity
  #several: SeveralAccounts | null = null

  /** When the first mail of any is due, epoch ms; infinite if none waits. */
  get firstDueAt(): number {
    return this.#several ? this.#several.firstDueAt : this.#onlyDueAt
  }

  /** Mail of this account waits and is due at this time. */
  note(accountId: string, dueAt: number): void {
    if (this.#several) return this.#several.note(accountId, dueAt)
    if (this.#only === null || this.#only === accountId) return this.#setOnly(accountId, Math.min(dueAt, this.#onlyDueAt))
    this.#several = new SeveralAccounts()
    this.#several.note(this.#only, this.#onlyDueAt)
    this.#several.note(accountId, dueAt)
    this.#setOnly(null, Infinity)
  }

  /** Whose turn it is; undefined if no mail is due. What the account has left is to be noted again. */
  next(now: number): AccountTurn | undefined {
    if (this.#several) {
      const turn = this.#several.next(now)
      if (this.#several.firstDueAt === Infinity) this.#several = null
      return turn
    }
    const accountId = this.#only
    if (accountId === null || this.#onlyDueAt > now) return undefined
    this.#setOnly(null, Infinity)
    return { accountId, others: 0 }
  }

  #setOnly(accountId: string | null, dueAt: number): void {
    this.#only = accountId
    this.#onlyDueAt = dueAt
  }
}

class SeveralAccounts {
  /** Those with due mail, in turn. */
  readonly #inTurn = new Set<string>()
  /** When the first mail of these is due. */
  readonly #due = new DueTimes()
  /** The same of those whose mail is not due yet. */
  readonly #later = new DueTimes()

  get firstDueAt(): number {
    return Math.min(this.#due.firstDueAt, this.#later.firstDueAt)
  }

  note(accountId: string, dueAt: number): void {
    const times = this.#inTurn.has(accountId) ? this.#due : this.#later
    if (dueAt < times.of(accountId)) times.set(accountId, dueAt)
  }

  next(now: number): AccountTurn | undefined {
    for (let first = this.#later.first; first !== undefined && this.#later.of(first) <= now; first = this.#later.first) {
      this.#inTurn.add(first)
      this.#due.set(first, this.#later.of(first))
      this.#later.delete(first)
    }
    const [accountId] = this.#inTurn
    if (accountId === undefined) return undefined
    this.#inTurn.delete(accountId)
    this.#due.delete(accountId)
    return { accountId, others: this.#inTurn.size }
  }
}
