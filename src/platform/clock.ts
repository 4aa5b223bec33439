/** Stops a timer; calling it again, or after the timer has fired, does nothing. */
export type CancelTimer = () => void

/** The only source of the time of day, for the queue, webhooks and retention, so that tests can set it. */
export interface Clock {
  /** Epoch, ms. */
  now(): number
  /** ms since an arbitrary time; never jumps, even if the clock is set. */
  steady(): number
  /**
   * Calls `fire` once when `now()` reaches `at` (epoch, ms); at once if `at` has passed. If the clock is set back, fires no later than
   * originally expected, so the caller must check the time again.
   */
  at(at: number, fire: () => void): CancelTimer
}

/** Checks the clock this often, because `setTimeout` does not notice when it is set forward. */
const maxTimeoutMs = 60_000

/** A clock with timers of this process. */
export const clockFrom = ({ now, steady }: Pick<Clock, 'now' | 'steady'>): Clock => ({
  now,
  steady,
  at(at, fire) {
    const end = steady() + at - now()
    const leftMs = (): number => Math.min(at - now(), end - steady())
    let timer: NodeJS.Timeout
    const wait = (): void => {
      // Timers may fire a millisecond early.
      timer = setTimeout(() => (leftMs() <= 0 ? fire() : wait()), Math.min(Math.max(0, leftMs()), maxTimeoutMs)).unref()
    }
    wait()
    return () => clearTimeout(timer)
  },
})

/** The computer's clock. */
export const systemClock: Clock = clockFrom({ now: () => Date.now(), steady: () => performance.now() })
