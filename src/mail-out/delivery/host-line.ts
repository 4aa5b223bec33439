import type { InTurn } from './connection-turns.ts'

interface Host {
  /** The urgent first. */
  waiting: readonly InTurn[]
}

/** Hosts that wait because all connections are in use. Those with urgent mail go first, but only every other time. */
export class HostLine<Of extends Host> {
  readonly #urgent = new Set<Of>()
  readonly #usual = new Set<Of>()
  #isUrgentNext = true

  /** Adds it behind the others, if its mail still waits. */
  add(host: Of): void {
    const [first] = host.waiting
    if (first) this.#lineOf(first.isUrgent).add(host)
  }

  /**
   * Serves the first that can be served; false if none can.
   * @param serve whether it was served; null: it cannot be now, and keeps its place
   */
  serveOne(serve: (host: Of) => boolean | null): boolean {
    return this.#serveOneOf(this.#isUrgentNext, serve) || this.#serveOneOf(!this.#isUrgentNext, serve)
  }

  #serveOneOf(isUrgent: boolean, serve: (host: Of) => boolean | null): boolean {
    const line = this.#lineOf(isUrgent)
    for (const host of line) {
      const isServed = serve(host)
      if (isServed === null) continue
      line.delete(host)
      if (!isServed) continue
      this.#isUrgentNext = !isUrgent
      this.add(host)
      return true
    }
    return false
  }

  #lineOf(isUrgent: boolean): Set<Of> {
    return isUrgent ? this.#urgent : this.#usual
  }
}
