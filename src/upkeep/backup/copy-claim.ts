import { hostname } from 'node:os'
import { randomBytes } from 'node:crypto'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { claimName, copiesPrefix } from './copy-name.ts'
import { knowTarget } from './known-target.ts'
import { putText, storedJson } from './store-backup.ts'
import type { Target } from './target.ts'

/** How often it is renewed, ms. */
const renewEveryMs = 30_000
/** How old a claim must be, ms, before another server may take the target. */
const claimLapsesAfterMs = 120_000

interface Claim {
  origin: string
  /** Of one start of a server. */
  run: string
  host: string
  /** ISO 8601 */
  at: string
}

/**
 * Notices when two servers copy to one target by mistake: each writes its claim there about twice a minute, and looks for another's first.
 * Their copies do not get in each other's way, because each has names of its own; but a restore could take the wrong one.
 */
export class CopyClaim {
  readonly #target: Target
  readonly #dataDir: string
  readonly #origin: string
  readonly #now: () => number
  readonly #run = randomBytes(8).toString('hex')
  /** When it was last stored, ISO 8601; null if it was not. */
  #storedAt: string | null = null

  #renewedAt = -Infinity

  constructor(target: Target, { dataDir, origin }: { dataDir: string; origin: string }, now: () => number) {
    this.#target = target
    this.#dataDir = dataDir
    this.#origin = origin
    this.#now = now
  }

  /**
   * Renews the claim if it is time, on the target that is known. False if that is another than before, or in another state.
   * @throws SternaError `invalid_state` while another server copies there, or if the target is gone
   */
  async hold(): Promise<boolean> {
    if (this.#now() - this.#renewedAt < renewEveryMs) return true
    this.#renewedAt = -Infinity
    const isKnown = await knowTarget(this.#target, this.#dataDir)
    const isAsLeft = await this.#renew()
    this.#renewedAt = this.#now()
    return isKnown && isAsLeft
  }

  /** It is renewed the next time, whenever that is. */
  doubt(): void {
    this.#renewedAt = -Infinity
  }

  /** Returns whether the claim was found as it was left. */
  async #renew(): Promise<boolean> {
    const found = (await storedJson(this.#target, claimName)) as Claim | null
    const isFresh = found !== null && Math.abs(this.#now() - Date.parse(found.at)) < claimLapsesAfterMs
    // A server that starts again after a crash finds its own claim, from before.
    const isOwn = found?.run === this.#run || (found?.origin === this.#origin && this.#storedAt === null)
    if (isFresh && !isOwn) {
      const who = `${found.host} (${found.origin}), last at ${found.at}`
      const advice = 'Give each server a place of its own, and each copy of a data directory, too.'
      throw new SternaError('invalid_state', `Another server copies to ${this.#target.label}: ${who}. ${advice}`)
    }
    const claim: Claim = { origin: this.#origin, run: this.#run, host: hostname(), at: isoTime(this.#now()) }
    await this.#target.prepare(copiesPrefix)
    await putText(this.#target, claimName, JSON.stringify(claim))
    const isAsLeft = found?.run === this.#run && found.at === this.#storedAt
    this.#storedAt = claim.at
    return isAsLeft
  }
}
