import { DueTimes } from '../../platform/due-times.ts'

/** The accounts whose mail waits for one destination. Those whose mail is due take turns, however old it is, and however much. */
export class AccountTurns {
  /** Those with due mail, in turn. */
  readonly #inTurn = new Set<string>()
  /** When the first mail of these is due. */
  readonly #due = new DueTimes()
  /** The same of those whose mail is not due yet. */
  readonly #later = new DueTimes()

  /** When the first mail of any is due, epoch ms; infinite if none waits. */
  get firstDueAt(): number {
    return Math.min(this.#due.firstDueAt, this.#later.firstDueAt)
  }

  /** Mail of this account waits and is due at this time. */
  note(accountId: string, dueAt: number): void {
    const times = this.#inTurn.has(accountId) ? this.#due : this.#later
    if (dueAt < times.of(accountId)) times.set(accountId, dueAt)
  }

  /** Whose turn it is, and how many others have due mail; undefined if none has. What it has left is to be noted again. */
  next(now: number): { accountId: string; others: number } | undefined {
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
