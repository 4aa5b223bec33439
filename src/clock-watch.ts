import type { Clock } from './clock.ts'

/** Less than this is not worth a word, ms: time services set a clock right by seconds. */
const smallestJumpMs = 60_000
const lookEveryMs = 1_000

/** The time of day was set, or the machine slept. */
export interface ClockJump {
  /** Epoch, ms: what the time would be, and what it is. */
  from: number
  to: number
}

/** Notices when the time of day is set while the process runs, by the clock that goes on evenly. */
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

/** How far the newest time that is written down may lie ahead of the clock, and behind it, before that is told, ms. */
const mostAheadMs = 5 * 60_000
const mostBehindMs = 24 * 3_600_000

/**
 * How the clock stands to the newest time that is written down: `behind` where that lies ahead of it, so that the clock was set
 * back or was wrong then; `beyond` where that was more than a day ago.
 */
export function compareClock(newest: number, now: number): 'behind' | 'near' | 'beyond' {
  if (newest - now > mostAheadMs) return 'behind'
  return now - newest > mostBehindMs ? 'beyond' : 'near'
}
