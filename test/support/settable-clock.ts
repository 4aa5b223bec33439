import type { CancelTimer, Clock } from '../../src/platform/clock.ts'

export interface SettableClock extends Clock {
  /** Moves the time forward and fires, in order of their times, the timers that are due on the way. */
  advance(ms: number): void
  set(at: number): void
  /** Sets the time of day alone, as an administrator or NTP does; no timer fires. */
  correct(ms: number): void
}

/** A clock that stands still until it is told to move. */
export function settableClock(start = Date.UTC(2026, 10, 21, 6, 0, 0)): SettableClock {
  let now = start
  let corrected = 0
  const timers = new Set<{ at: number; fire: () => void }>()

  const nextDue = (until: number) => {
    let next: { at: number; fire: () => void } | undefined
    for (const timer of timers) if (timer.at <= until && (!next || timer.at < next.at)) next = timer
    return next
  }

  const set = (at: number): void => {
    for (let timer = nextDue(at); timer; timer = nextDue(at)) {
      timers.delete(timer)
      now = Math.max(now, timer.at)
      timer.fire()
    }
    now = Math.max(now, at)
  }

  return {
    now: () => now + corrected,
    steady: () => now,
    correct(ms) {
      corrected += ms
    },
    at(at, fire): CancelTimer {
      const timer = { at: at - corrected, fire }
      if (timer.at <= now) {
        const immediate = setImmediate(fire)
        return () => clearImmediate(immediate)
      }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    set,
    advance: (ms) => set(now + ms),
  }
}
