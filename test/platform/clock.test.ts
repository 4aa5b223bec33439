import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ClockWatch } from '../../src/platform/clock-watch.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { settableClock } from '../support/settable-clock.ts'

const start = Date.UTC(2026, 10, 22, 6)
const hour = 3_600_000

beforeEach(
  () =>
    void vi.useFakeTimers({ now: start, toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] }),
)
afterEach(() => void vi.useRealTimers())

/** How often it has fired so far. */
function timerAt(at: number): () => number {
  let fired = 0
  systemClock.at(at, () => fired++)
  return () => fired
}

test('a timer fires once, not before its time, and at once if that has passed', () => {
  const [later, passed] = [timerAt(start + 30 * 24 * hour), timerAt(start - 1)]
  vi.advanceTimersByTime(0)
  expect([later(), passed()]).toEqual([0, 1])
  vi.advanceTimersByTime(30 * 24 * hour - 1)
  expect(later()).toBe(0)
  vi.advanceTimersByTime(hour)
  expect([later(), passed()]).toEqual([1, 1])
})

test('a timer does not wait for a clock that was set back', () => {
  const fired = timerAt(start + hour)
  vi.setSystemTime(start - 72 * hour)
  vi.advanceTimersByTime(hour - 1)
  expect(fired()).toBe(0)
  vi.advanceTimersByTime(1)
  expect(fired()).toBe(1)
})

test('a timer fires within a minute after the clock was set past its time', () => {
  const fired = timerAt(start + 72 * hour)
  vi.setSystemTime(start + 73 * hour)
  vi.advanceTimersByTime(60_000)
  expect(fired()).toBe(1)
})

test('the watch reports when the clock is set, not that time passes', () => {
  const clock = settableClock(start)
  const jumps: object[] = []
  const watch = new ClockWatch(clock)
  watch.onJump((jump) => jumps.push(jump))
  watch.start()
  for (let minutes = 0; minutes < 10; minutes++) {
    clock.advance(60_000)
    clock.correct(1_000)
    vi.advanceTimersByTime(60_000)
  }
  expect(jumps).toEqual([])
  const now = clock.now()
  clock.correct(-hour)
  vi.advanceTimersByTime(60_000)
  clock.correct(2 * hour)
  vi.advanceTimersByTime(60_000)
  expect(jumps).toEqual([
    { from: now, to: now - hour },
    { from: now - hour, to: now + hour },
  ])
  watch.stop()
})
