/** A group that takes mail again after a stop. */
interface Start {
  /** Jobs at a time; each has one connection. */
  limit: number
  used: number
  /** Accepted since the limit rose. */
  accepted: number
  waiting: (() => void)[]
}

/** So many acceptances for each connection allow one more. */
const provenBy = 20
/** From here on there is no limit but that of all hosts. */
const enough = 20

/**
 * Once a stop ends, mail comes to the group over one connection, and then over more of them one by one: all of what has waited at once would
 * bring about the next stop. Keys are those of `ProviderStops`.
 */
export class CarefulStart {
  readonly #starts = new Map<string, Start>()

  get isOver(): boolean {
    return this.#starts.size === 0
  }

  begin(key: string): void {
    const start = this.#starts.get(key)
    if (start) Object.assign(start, { limit: 1, accepted: 0 })
    else this.#starts.set(key, { limit: 1, used: 0, accepted: 0, waiting: [] })
  }

  /** Resolves when it is a job's turn. What it gives is to be called once, at the job's end. Null: it has not to wait. */
  enter(key: string): Promise<() => void> | null {
    const start = this.#starts.get(key)
    if (!start) return null
    return new Promise((enter) => {
      start.waiting.push(() => enter(() => this.#leave(start)))
      this.#serve(start)
    })
  }

  /** The group has accepted a message. */
  accepted(key: string): void {
    const start = this.#starts.get(key)
    if (!start || ++start.accepted < provenBy * start.limit) return
    start.limit++
    start.accepted = 0
    if (start.limit >= enough) {
      this.#starts.delete(key)
      start.limit = Infinity
    }
    this.#serve(start)
  }

  #leave(start: Start): void {
    start.used--
    this.#serve(start)
  }

  #serve(start: Start): void {
    while (start.used < start.limit) {
      const next = start.waiting.shift()
      if (!next) return
      start.used++
      next()
    }
  }
}
