import { expect, test } from 'vitest'
import { neededOf } from '../../../src/clients/dashboard/days.ts'

const today = new Date(2026, 10, 27, 18, 20)

test.each([
  [new Date(2026, 10, 27, 0, 0), 'time'],
  [new Date(2026, 10, 26, 23, 59), 'day'],
  [new Date(2026, 0, 1), 'day'],
  [new Date(2025, 11, 31, 23, 59), 'date'],
  [new Date(2025, 10, 27, 18, 20), 'date'],
])('of %s, its %s is shown', (at, needed) => expect(neededOf(at, today)).toBe(needed))
