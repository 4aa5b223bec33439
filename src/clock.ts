/** Stops a timer; calling it again, or after the timer has fired, does nothing. */
export type CancelTimer = () => void

/** The only source of the time of day: queue, webhooks and retention read it, so a test can set it. */
export interface Clock {
  /** Epoch, ms. */
  now(): number
  /** ms since some moment; goes forward evenly, also when the time of day is set. */
  steady(): number
  /** Calls `fire` once when `now()` has reached `at` (epoch, ms); never early, at once when `at` has passed. */
  at(at: number, fire: () => void): CancelTimer
}

/** A longer `setTimeout` would overflow and fire at once. */
const longestTimeoutMs = 2 ** 31 - 1

/** The computer's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  at(at, fire) {
    let timer: NodeJS.Timeout
    const wait = (): void => {
      const left = at - Date.now()
      // Timers may fire a millisecond early, and the wall clock may be set back meanwhile.
      timer = left <= 0 ? setTimeout(fire, 0) : setTimeout(() => (Date.now() >= at ? fire() : wait()), Math.min(left, longestTimeoutMs))
      timer.unref()
    }
    wait()
    return () => clearTimeout(timer)
  },
}
