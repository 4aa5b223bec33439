/** Runs the work of each owner in order, one piece at a time; different owners do not wait for each other. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Calls `act` once everything requested for this owner before is done, successfully or not. */
  take<T>(owner: string, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(owner)
    const mine = before ? before.then(act, act) : act()
    this.#last.set(owner, mine)
    const leave = (): void => {
      if (this.#last.get(owner) === mine) this.#last.delete(owner)
    }
    mine.then(leave, leave)
    return mine
  }
}
