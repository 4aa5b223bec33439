import type { Clock } from './clock.ts'

/** ms; smaller jumps are not worth reporting, because time services correct clocks by seconds */
const smallestJumpMs = 60_000
const lookEveryMs = 1_000

/** The clock was set, or the machine or this process slept. */
export interface ClockJump {
  /** Epoch, ms: the expected time and the actual time. */
  from: number
  to: number
}

/**
 * Notices when time is missing while the process runs: the clock was set, or the machine slept, so the clock and the steady clock differ;
 * or the process was frozen, so nothing of it ran.
 */
export class ClockWatch {
  readonly #clock: Clock
  readonly #listeners: ((jump: ClockJump) => void)[] = []
  #offset: number
  /** performance.now() */
  #lookedAt = performance.now()
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#offset = clock.now() - clock.steady()
  }

  /** Listeners are called in the order in which they were added. */
  onJump(listener: (jump: ClockJump) => void): void {
    this.#listeners.push(listener)
  }

  /** Looks every second from now on. */
  start(): void {
    this.#lookedAt = performance.now()
    this.#timer = setInterval(() => this.look(), lookEveryMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Looks now, for those who must not act on a jump before its listeners have heard of it. */
  look(): void {
    const to = this.#clock.now()
    const offset = to - this.#clock.steady()
    const jumpedMs = offset - this.#offset
    const at = performance.now()
    const frozenMs = this.#timer && at - this.#lookedAt >= smallestJumpMs ? at - this.#lookedAt : 0
    this.#offset = offset
    this.#lookedAt = at
    if (Math.abs(jumpedMs) < smallestJumpMs && frozenMs === 0) return
    const jump = { from: to - jumpedMs - frozenMs, to }
    for (const listener of this.#listeners) listener(jump)
  }
}

/** Whether a machine's clock is too far from another one not to be told of. */
export const isClockOff = (aheadMs: number): boolean => Math.abs(aheadMs) > smallestJumpMs

/** What is told of it. */
export const clockOffset = (aheadMs: number) => ({
  seconds: Math.round(Math.abs(aheadMs) / 1000),
  direction: aheadMs > 0 ? 'ahead of' : 'behind',
})

/** How far the newest stored time may be ahead of the clock, and behind it, before we report it, ms. */
const maxAheadMs = 5 * 60_000
const maxBehindMs = 24 * 3_600_000

/**
 * Compares the clock with the newest stored time. `behind`: that time is ahead, so the clock was set back or was wrong
 * then. `beyond`: it is more than a day ago.
 */
export function compareClock(newest: number, now: number): 'behind' | 'near' | 'beyond' {
  if (newest - now > maxAheadMs) return 'behind'
  return now - newest > maxBehindMs ? 'beyond' : 'near'
}
