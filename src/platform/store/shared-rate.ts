import type { Log } from '../log.ts'
import type { LimitShares, LimitWindows } from './limit-shares.ts'

interface SharedRateServices {
  limitShares: LimitShares
  log: Log
}

interface Rate {
  /** Of what is limited, for rows. */
  name: string
  /** 0: no limit. */
  limit: number
  windowMs: number
}

/** Applies the same limit to each of many keys (an account, a client network) in a sliding window, in the sum of all nodes. */
export class SharedRate {
  readonly #log: Log
  readonly #windows: LimitWindows
  readonly #limit: number

  constructor({ limitShares, log }: SharedRateServices, { name, limit, windowMs }: Rate) {
    this.#log = log
    this.#windows = limitShares.windows(name, { windowMs, isKept: false })
    this.#limit = limit
  }

  start(): Promise<void> {
    return this.#windows.start(this.#log)
  }

  stop(): Promise<void> {
    return this.#windows.stop()
  }

  /**
   * Counts one more for the key and gives 0. If it has reached its limit, counts none and gives the ms to wait. A promise if other nodes may have
   * to leave this one a part of it.
   */
  take(key: string): number | Promise<number> {
    if (this.#limit === 0) return 0
    const window = this.#windows.of(key)
    const waitMs = (isTaken: boolean): number => (isTaken ? 0 : Math.max(1, window.untilNext(this.#limit)))
    const isTaken = window.take(this.#limit)
    return typeof isTaken === 'boolean' ? waitMs(isTaken) : isTaken.then(waitMs)
  }
}
