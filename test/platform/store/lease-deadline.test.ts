import { expect, test } from 'vitest'
import { LeaseDeadline } from '../../../src/platform/store/lease-deadline.ts'

test('a deadline that nobody sets never comes', () => {
  let now = 0
  const deadline = new LeaseDeadline(undefined, () => now)
  now = 1e12
  expect(deadline.isPast).toBe(false)
})

test.each([0, 2 ** 31 - 3_000, 2 ** 32 - 3_000, 1.7e12])(
  'a deadline comes at its time, from %d ms on, and another thread sees it',
  (from) => {
    let now = from
    const kept = new LeaseDeadline(undefined, () => now)
    const seen = new LeaseDeadline(kept.cells, () => now)
    kept.set(5_000)
    now += 4_999
    expect(seen.isPast).toBe(false)
    now += 1
    expect(seen.isPast).toBe(true)
    kept.set(5_000)
    expect(seen.isPast).toBe(false)
  },
)

test('threads have the same time', () => {
  const kept = new LeaseDeadline()
  kept.set(60_000)
  expect(new LeaseDeadline(kept.cells).isPast).toBe(false)
  kept.set(-1)
  expect(new LeaseDeadline(kept.cells).isPast).toBe(true)
})
