/** Stops a timer; calling it again, or after the timer has fired, does nothing. */
export type CancelTimer = () => void

/** The only source of the time of day: queue, webhooks and retention read it, so a test can set it. */
export interface Clock {
  /** Epoch, ms. */
  now(): number
  /** ms since some moment; goes forward evenly, also when the time of day is set. */
  steady(): number
  /**
   * Calls `fire` once when `now()` has reached `at` (epoch, ms), at once when `at` has passed; or when as much time has gone
   * by as there was until `at`, though the time of day was set back meanwhile: who waits for a date looks at it again.
   */
  at(at: number, fire: () => void): CancelTimer
}

/** After so long the time of day is looked at again: it may have been set forward, and a longer `setTimeout` would not know. */
const longestTimeoutMs = 60_000

/** The computer's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  at(at, fire) {
    const end = performance.now() + at - Date.now()
    const leftMs = (): number => Math.min(at - Date.now(), end - performance.now())
    let timer: NodeJS.Timeout
    const wait = (): void => {
      // Timers may fire a millisecond early.
      timer = setTimeout(() => (leftMs() <= 0 ? fire() : wait()), Math.min(Math.max(0, leftMs()), longestTimeoutMs)).unref()
    }
    wait()
    return () => clearTimeout(timer)
  },
}
