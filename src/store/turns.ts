/** Has things done one after the other for each owner, whatever is done for others meanwhile. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Calls `act` once all that was asked for this owner before is done, well or not. */
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
