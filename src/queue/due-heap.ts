interface Entry {
  key: string
  dueAt: number
}

/** Keys by the time they are due, the earliest first. A key may be in it more than once; who takes it out judges. */
export class DueHeap {
  readonly #entries: Entry[] = []

  /** The earliest. */
  get first(): Readonly<Entry> | undefined {
    return this.#entries[0]
  }

  /** When the earliest is due, epoch ms; infinite where there is none. */
  get firstDueAt(): number {
    return this.#entries[0]?.dueAt ?? Infinity
  }

  push(key: string, dueAt: number): void {
    const entries = this.#entries
    let place = entries.push({ key, dueAt }) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (this.#dueAt(parent) <= dueAt) break
      this.#swap(place, parent)
      place = parent
    }
  }

  pop(): Entry | undefined {
    const entries = this.#entries
    const first = entries[0]
    const last = entries.pop()
    if (!first || !last || entries.length === 0) return first
    entries[0] = last
    for (let place = 0; ;) {
      let least = place
      for (const child of [2 * place + 1, 2 * place + 2]) {
        if (child < entries.length && this.#dueAt(child) < this.#dueAt(least)) least = child
      }
      if (least === place) return first
      this.#swap(place, least)
      place = least
    }
  }

  #dueAt(place: number): number {
    return (this.#entries[place] as Entry).dueAt
  }

  #swap(a: number, b: number): void {
    const entry = this.#entries[a] as Entry
    this.#entries[a] = this.#entries[b] as Entry
    this.#entries[b] = entry
  }
}
