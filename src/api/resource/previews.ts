import { randomBytes } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'

/** HTML that somebody is about to look at. */
export interface Preview {
  /** UTF-8 */
  html: Uint8Array
  /** Whether it may load pictures from the web. */
  pictures: boolean
}

interface Kept extends Preview {
  holderId: string
  /** epoch, ms */
  expiresAt: number
}

/** bytes, of one preview */
export const maxPreviewBytes = 5 * 1024 * 1024
const lifetimeMs = 60_000
const maxPerHolder = 20
/** bytes, so that nobody pushes out what others are about to see */
const maxBytesOfHolder = 16 * 1024 * 1024
/** bytes, of all together */
const maxBytes = 64 * 1024 * 1024

/** Previews that nobody has fetched yet. They are in memory only, each can be fetched once, and the oldest make room for new ones. */
export class Previews {
  readonly #clock: Clock
  /** By token, oldest first. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Keeps it for a minute. `holderId` is the user or the key that it is for. */
  add(holderId: string, preview: Preview): { token: string; expiresAt: number } {
    this.sweep()
    const token = randomBytes(32).toString('base64url')
    const expiresAt = this.#clock.now() + lifetimeMs
    this.#kept.set(token, { ...preview, holderId, expiresAt })
    this.#bytes += preview.html.length
    this.#makeRoom(holderId)
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= maxBytes) break
      this.take(oldest)
    }
    return { token, expiresAt }
  }

  #makeRoom(holderId: string): void {
    const own = [...this.#kept].filter(([, kept]) => kept.holderId === holderId)
    let bytes = own.reduce((sum, [, { html }]) => sum + html.length, 0)
    own.forEach(([token, { html }], place) => {
      if (own.length - place <= maxPerHolder && bytes <= maxBytesOfHolder) return
      bytes -= html.length
      this.take(token)
    })
  }

  /** Gives it away; undefined if there is none, or none any more. */
  take(token: string): Preview | undefined {
    const kept = this.#kept.get(token)
    if (!kept) return undefined
    this.#kept.delete(token)
    this.#bytes -= kept.html.length
    return kept.expiresAt > this.#clock.now() ? kept : undefined
  }

  /** Forgets those that are over. */
  sweep(): void {
    const now = this.#clock.now()
    for (const [token, { expiresAt }] of this.#kept) if (expiresAt <= now) this.take(token)
  }
}
