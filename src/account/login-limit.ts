import { BoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'

interface Attempts {
  count: number
  /** When they are forgotten, by the clock that goes evenly, ms. */
  until: number
}

const windowMs = 15 * 60_000
const mostAttempts = 20
/** Above this the one that began longest ago is forgotten. */
const mostKeys = 10_000

/**
 * Counts attempts to log in by address and by user. Each is counted before its password is looked at, so that many at
 * once get no further than many in a row; one that succeeds is taken back.
 */
export class LoginLimit {
  readonly #clock: Clock
  readonly #byKey = new BoundedMap<string, Attempts>(mostKeys)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts an attempt for each key; ms to wait where one of them has had too many, and then it is not counted. */
  take(keys: readonly string[]): number {
    const now = this.#clock.steady()
    const waits = keys.map((key) => {
      const known = this.#byKey.get(key)
      return known && known.until > now && known.count >= mostAttempts ? known.until - now : 0
    })
    const wait = Math.max(...waits)
    if (wait === 0) for (const key of keys) this.#count(key, now)
    return wait
  }

  /** An attempt was none: somebody who may come in. */
  giveBack(keys: readonly string[]): void {
    for (const key of keys) {
      const known = this.#byKey.get(key)
      if (known) known.count -= 1
    }
  }

  #count(key: string, now: number): void {
    const known = this.#byKey.get(key)
    if (known && known.until > now) {
      known.count += 1
      return
    }
    this.#byKey.put(key, { count: 1, until: now + windowMs })
  }
}
