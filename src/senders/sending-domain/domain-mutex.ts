/** Serialises work by name: the changes of each domain, so no decision is based on a version that is about to be replaced. */
export class DomainMutex {
  /** The end of the last change of each domain that is being changed. */
  readonly #ends = new Map<string, Promise<void>>()

  async take<T>(id: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#ends.get(id) ?? Promise.resolve()).then(work)
    const end = result.then(
      () => {},
      () => {},
    )
    this.#ends.set(id, end)
    void end.then(() => this.#ends.get(id) === end && this.#ends.delete(id))
    return result
  }
}
