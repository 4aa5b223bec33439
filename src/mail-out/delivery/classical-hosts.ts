import { lastUsed } from '../../platform/last-used.ts'
import { hostKey, type RouteHost } from './route.ts'

/** A host that loses large hellos; `key` is its `hostKey`. */
export interface ClassicalHost {
  key: string
  /** Epoch, ms; null: it is offered all groups again. */
  foundAt: number | null
}

/** How long a host is offered classical groups only before it is offered all again, ms. */
export const classicalForMs = 7 * 24 * 3_600_000
export const maxClassicalHosts = 10_000
/** A large hello must be lost again after this long, ms: a host that restarts loses one too. */
export const lostAgainMs = 300_000

/**
 * The hosts that are offered classical groups only. A host that agrees to X25519MLKEM768 is sent a second hello with its share, of 1,538
 * bytes: more than one packet, which some hosts, and what stands in front of them, drop. One that has, and then succeeds without that group,
 * is noted once the same happens again later; never a host that large hellos have reached. Times are by the queue's clock, epoch ms.
 */
export class ClassicalHosts {
  readonly #tell: (host: ClassicalHost) => void
  readonly #noted = lastUsed<number>(maxClassicalHosts)
  /** When each lost its first. */
  readonly #lost = lastUsed<number>(maxClassicalHosts)
  readonly #reached = lastUsed<true>(maxClassicalHosts)

  /** @param tell called when a host is noted, and when its note ends */
  constructor(tell: (host: ClassicalHost) => void) {
    this.#tell = tell
  }

  includes(host: RouteHost, at: number): boolean {
    if (this.#noted.size === 0) return false
    const key = hostKey(host)
    return isWithinWeek(this.#noted.get(key), at) && !this.#reached.has(key)
  }

  /** A handshake with a large hello has succeeded. */
  reached(host: RouteHost): void {
    const key = hostKey(host)
    this.#reached.set(key, true)
    this.#lost.delete(key)
  }

  /** A large hello was lost, and the handshake has succeeded without. */
  lost(host: RouteHost, at: number): void {
    const key = hostKey(host)
    if (this.#reached.has(key)) return
    const first = this.#lost.get(key)
    if (first === undefined || !isWithinWeek(first, at)) this.#lost.set(key, at)
    else if (at - first >= lostAgainMs) this.#note({ key, foundAt: at })
  }

  /** The handshake has failed with classical groups too, so a noted host may have changed. */
  failed(host: RouteHost): void {
    const key = hostKey(host)
    if (this.#noted.has(key)) this.#note({ key, foundAt: null })
  }

  /** What another thread, an earlier process or another node has found. */
  learn({ key, foundAt }: ClassicalHost): void {
    this.#lost.delete(key)
    if (foundAt === null) this.#noted.delete(key)
    else this.#noted.set(key, foundAt)
  }

  #note(host: ClassicalHost): void {
    this.learn(host)
    this.#tell(host)
  }
}

/** A clock that was set back does not make it last longer. */
const isWithinWeek = (since: number | undefined, at: number): boolean => since !== undefined && at >= since && at - since < classicalForMs
