import type { Clock } from '../../platform/clock.ts'
import type { Finding } from './finding.ts'

export interface Examined {
  findings: Finding[]
  /** When it began; epoch, ms. */
  at: number
}

/** Runs examinations of this server and keeps the last, since one takes up to half a minute; but what nodes say of themselves is always new. */
export class Examinations {
  readonly #clock: Clock
  readonly #examine: () => Promise<Finding[]>
  readonly #examineNodes: () => Promise<Finding[]>
  #last: { at: number; examined: Promise<Examined> } | null = null

  /** @param examineNodes what the nodes say of themselves: cheap, so it is never kept */
  constructor(clock: Clock, examine: () => Promise<Finding[]>, examineNodes: () => Promise<Finding[]>) {
    this.#clock = clock
    this.#examine = examine
    this.#examineNodes = examineNodes
  }

  /** The last one if it began at most `maxAgeMs` ago, which may still be under way; otherwise a new one. */
  async latest(maxAgeMs: number): Promise<Examined> {
    const { findings, at } = await this.#latest(maxAgeMs)
    return { findings: [...(await this.#examineNodes()), ...findings], at }
  }

  async #latest(maxAgeMs: number): Promise<Examined> {
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
