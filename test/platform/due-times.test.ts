import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DueTimes } from '../../src/platform/due-times.ts'

test('the first of what is there is known, however often times were set and removed', () => {
  const change = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.option(fc.nat(20)))
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400 }), (changes) => {
      const [times, expected] = [new DueTimes(), new Map<string, number>()]
      for (const [key, at] of changes) {
        if (at === null) times.delete(key)
        else times.set(key, at)
        if (at === null) expected.delete(key)
        else expected.set(key, at)
        const firstAt = Math.min(Infinity, ...expected.values())
        expect(times.firstDueAt).toBe(firstAt)
        expect(expected.get(times.first ?? '') ?? Infinity).toBe(firstAt)
        expect(times.of(key)).toBe(expected.get(key) ?? Infinity)
      }
    }),
  )
})
