import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { DatabaseClock, type TimeReading } from '../../../src/platform/store/database-clock.ts'

const hour = 3_600_000
const noon = Date.UTC(2026, 10, 28, 12)

/** A node, by its steady clock, and a database whose time is `ahead` of that. */
function node({ ahead = noon, first = 0 }: { ahead?: number; first?: number } = {}) {
  const machine = { steady: 0, ahead }
  const reading = (delay: { there: number; back: number }): TimeReading => {
    const askedAt = machine.steady
    const time = Math.floor(askedAt + delay.there + machine.ahead)
    machine.steady += delay.there + delay.back
    return { askedAt, answeredAt: machine.steady, time }
  }
  const clock = new DatabaseClock(reading({ there: first, back: first }), () => machine.steady)
  return { machine, clock, ask: (there: number, back: number) => clock.heard(reading({ there, back })) }
}

test.each([
  { about: 'answers at once', there: 0, back: 0, off: 0 },
  { about: 'a slow question', there: 400, back: 0, off: 0 },
  { about: 'a slow answer', there: 0, back: 400, off: 0 },
  { about: 'a database that stood still for ten seconds', there: 10_000, back: 1, off: 0 },
])('$about: the time is that of the database', ({ there, back, off }) => {
  const { machine, clock, ask } = node()
  machine.steady += 1_000
  ask(there, back)
  expect(clock.now() - (machine.steady + machine.ahead)).toBe(off)
})

test('whatever the clock of the machine says, two nodes have the same time', () => {
  vi.useFakeTimers({ now: noon - hour, toFake: ['Date'] })
  const behind = node({ ahead: noon })
  vi.setSystemTime(noon + hour)
  const beyond = node({ ahead: noon })
  expect([behind.clock.now(), beyond.clock.now()]).toEqual([noon, noon])
})

test('an answer that took long on one way is corrected by the next', () => {
  const { machine, clock, ask } = node({ first: 0 })
  machine.ahead = noon + 300
  ask(1, 1)
  expect(clock.now() - (machine.steady + machine.ahead)).toBeGreaterThanOrEqual(-1)
  expect(clock.now() - (machine.steady + machine.ahead)).toBeLessThanOrEqual(1)
})

test('a clock that is ahead goes on at half speed until it no longer is', () => {
  const { machine, clock, ask } = node()
  machine.ahead -= 10_000
  ask(0, 0)
  const shown = [0, 5_000, 10_000, 5_000, 5_000, 5_000].map((ms) => {
    machine.steady += ms
    return clock.now() - noon
  })
  expect(shown).toEqual([0, 2_500, 7_500, 10_000, 15_000, 20_000])
})

test('a database that takes over with a clock an hour ahead is followed at once', () => {
  const { machine, clock, ask } = node()
  machine.ahead += hour
  ask(0, 0)
  expect(clock.now()).toBe(noon + hour)
})

test('it never goes back, gives whole milliseconds, and comes within the way of an answer of the database', () => {
  const step = fc.record({
    passes: fc.double({ min: 0, max: 5_000, noNaN: true }),
    there: fc.double({ min: 0, max: 2_000, noNaN: true }),
    back: fc.double({ min: 0, max: 2_000, noNaN: true }),
    jump: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: -10_000, max: 10_000 }) }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      const { machine, clock, ask } = node()
      let last = clock.now()
      for (const { passes, there, back, jump } of steps) {
        machine.steady += passes
        machine.ahead += jump
        ask(there, back)
        const now = clock.now()
        expect(Number.isInteger(now)).toBe(true)
        expect(now).toBeGreaterThanOrEqual(last)
        // One more for the database's own milliseconds and one for ours.
        expect(now - (machine.steady + machine.ahead)).toBeGreaterThanOrEqual(-back - there - 2)
        last = now
      }
      machine.steady += 2 * 50 * 10_000
      ask(1, 1)
      // What it has too much by what this answer says, it gives up slowly.
      machine.steady += 10_000
      expect(Math.abs(clock.now() - (machine.steady + machine.ahead))).toBeLessThanOrEqual(4)
    }),
  )
})

afterEach(() => void vi.useRealTimers())

test('a timer fires at the time of the database, and not later if that goes back', () => {
  vi.useFakeTimers({ now: noon, toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const ahead = noon - performance.now() + hour
  const read = (by: number): TimeReading => ({
    askedAt: performance.now(),
    answeredAt: performance.now(),
    time: Math.floor(performance.now() + by),
  })
  const clock = new DatabaseClock(read(ahead))
  let fired = 0
  clock.at(noon + hour + 90_000, () => fired++)
  vi.advanceTimersByTime(30_000)
  clock.heard(read(ahead - 20_000))
  vi.advanceTimersByTime(59_000)
  expect(fired).toBe(0)
  vi.advanceTimersByTime(1_001)
  expect(fired).toBe(1)
})
