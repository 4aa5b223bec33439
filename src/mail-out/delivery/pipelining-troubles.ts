import { lastUsed } from '../../platform/last-used.ts'
import { hostKey, type RouteHost } from './route.ts'

interface Note {
  /** True if commands one at a time have helped. */
  isDropped: boolean
  /** performance.now() */
  until: number
}

/** How long a host gets one command at a time, and how long one where that did not help is not tried so again, ms. */
const droppedForMs = 24 * 3_600_000
const innocentForMs = 3_600_000
const maxHosts = 10_000

/**
 * The hosts that drop commands sent ahead of replies (RFC 2920), or behind something that does: they get one command at a time. Only what
 * helped is remembered as a host's fault. Times are performance.now().
 */
export class PipeliningTroubles {
  readonly #notes = lastUsed<Note>(maxHosts)

  /** False if the host gets one command at a time. */
  allows(host: RouteHost, now: number): boolean {
    return this.#notes.size === 0 || this.#noteOf(host, now)?.isDropped !== true
  }

  /** A connection broke after commands were sent ahead. True if the host is to be given the same mail again, one command at a time. */
  suspect(host: RouteHost, now: number): boolean {
    if (this.#noteOf(host, now)) return false
    this.judge(host, true, now)
    return true
  }

  /** Whether that has helped. */
  judge(host: RouteHost, hasHelped: boolean, now: number): void {
    this.#notes.set(hostKey(host), { isDropped: hasHelped, until: now + (hasHelped ? droppedForMs : innocentForMs) })
  }

  #noteOf(host: RouteHost, now: number): Note | undefined {
    const note = this.#notes.get(hostKey(host))
    return note && now < note.until ? note : undefined
  }
}
