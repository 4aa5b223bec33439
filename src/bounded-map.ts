/** A map that never holds more than so many entries: beyond that it evicts the one that was put the longest ago. */
export class BoundedMap<Key, Value> {
  readonly #most: number
  readonly #entries = new Map<Key, Value>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  /** The one that was put the longest ago first. */
  values(): Iterable<Value> {
    return this.#entries.values()
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }

  /** Puts an entry, which is the newest then, also where the key was there before. */
  put(key: Key, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#most) return
    const [oldest] = this.#entries.keys()
    this.#entries.delete(oldest as Key)
  }
}
