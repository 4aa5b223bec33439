import type { Clock } from './clock.ts'

/** ms; smaller jumps are not worth reporting, because time services correct clocks by seconds */
const smallestJumpMs = 60_000
const lookEveryMs = 1_000

/** The clock was set, or the machine slept. */
export interface ClockJump {
  /** Epoch, ms: the expected time and the actual time. */
  from: number
  to: number
}

/** Notices when the clock is set while the process runs, by comparing it with the steady clock. */
export function watchClock(clock: Clock, onJump: (jump: ClockJump) => void): { stop(): void } {
  let offset = clock.now() - clock.steady()
  const timer = setInterval(() => {
    const before = offset
    const to = clock.now()
    offset = to - clock.steady()
    if (Math.abs(offset - before) >= smallestJumpMs) onJump({ from: to - offset + before, to })
  }, lookEveryMs).unref()
  return { stop: () => clearInterval(timer) }
}

/** How far the newest stored time may be ahead of the clock, and behind it, before we report it, ms. */
const mostAheadMs = 5 * 60_000
const mostBehindMs = 24 * 3_600_000

/**
 * Compares the clock with the newest stored time. `behind`: that time is ahead, so the clock was set back or was wrong
 * then. `beyond`: it is more than a day ago.
 */
export function compareClock(newest: number, now: number): 'behind' | 'near' | 'beyond' {
  if (newest - now > mostAheadMs) return 'behind'
  return now - newest > mostBehindMs ? 'beyond' : 'near'
}
