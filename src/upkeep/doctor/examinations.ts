import type { Clock } from '../../platform/clock.ts'
import type { Finding } from './finding.ts'

export interface Examined {
  findings: Finding[]
  /** When it began; epoch, ms. */
  at: number
}

/** Runs examinations of this server and keeps the last, since one takes up to half a minute. */
export class Examinations {
  readonly #clock: Clock
  readonly #examine: () => Promise<Finding[]>
  #last: { at: number; examined: Promise<Examined> } | null = null

  constructor(clock: Clock, examine: () => Promise<Finding[]>) {
    this.#clock = clock
    this.#examine = examine
  }

  /** The last one if it began at most `maxAgeMs` ago, which may still be under way; otherwise a new one. */
  async latest(maxAgeMs: number): Promise<Examined> {
    const at = this.#clock.now()
    if (this.#last && maxAgeMs > 0 && at - this.#last.at <= maxAgeMs) return this.#last.examined
    const begun = { at, examined: this.#examine().then((findings) => ({ findings, at })) }
    this.#last = begun
    try {
      return await begun.examined
    } catch (error) {
      if (this.#last === begun) this.#last = null
      throw error
    }
  }
}
