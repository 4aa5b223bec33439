import { lastUsed } from '../../platform/last-used.ts'
import { hostKey, type RouteHost } from './route.ts'

/** A host that loses large hellos; `key` is its `hostKey`. */
export interface ClassicalHost {
  key: string
  /** Epoch, ms. */
  foundAt: number
}

/** How long a host is offered classical groups only before it is offered all again, ms. */
export const classicalForMs = 7 * 24 * 3_600_000
export const maxClassicalHosts = 10_000

/**
 * The hosts that are offered classical groups only. A host that agrees to X25519MLKEM768 is sent a second hello with its share, of 1,538
 * bytes: more than one packet, which some hosts, and what stands in front of them, drop. One that has is a suspect, and proven once the
 * handshake succeeds without that group. Times are by the queue's clock, epoch ms.
 */
export class ClassicalHosts {
  readonly #noteProven: (host: ClassicalHost) => void
  readonly #proven = lastUsed<number>(maxClassicalHosts)
  readonly #suspects = lastUsed<true>(maxClassicalHosts)

  /** @param noteProven called when a suspect is proven */
  constructor(noteProven: (host: ClassicalHost) => void) {
    this.#noteProven = noteProven
  }

  includes(host: RouteHost, at: number): boolean {
    if (this.#proven.size === 0 && this.#suspects.size === 0) return false
    const key = hostKey(host)
    const age = at - (this.#proven.get(key) ?? -Infinity)
    // A clock that was set back does not make it last longer.
    return this.#suspects.has(key) || (age >= 0 && age < classicalForMs)
  }

  /** It dropped the second hello, or something else did at that moment. */
  suspect(host: RouteHost): void {
    this.#suspects.set(hostKey(host), true)
  }

  /** A handshake with classical groups only has ended: it proves or clears a suspect. */
  tried(host: RouteHost, succeeded: boolean, at: number): void {
    const key = hostKey(host)
    if (!this.#suspects.delete(key) || !succeeded) return
    const proven = { key, foundAt: at }
    this.learn(proven)
    this.#noteProven(proven)
  }

  /** What another thread, an earlier process or another node has proven. */
  learn({ key, foundAt }: ClassicalHost): void {
    this.#proven.set(key, foundAt)
  }
}
