import { expect, test } from 'vitest'
import { standstillAt, type QueueLook, type Standstill } from '../../../src/mail-out/queue/standstill.ts'

const before: Standstill = { at: 0, claimed: 100, ended: 100 }
const look = (changes: Partial<QueueLook>): QueueLook => ({ at: 60, isOverdue: false, isBusy: false, claimed: 100, ended: 100, ...changes })

test.each<[string, Partial<QueueLook>, boolean]>([
  ['an empty queue', {}, false],
  ['mail that is due and not claimed', { isOverdue: true }, true],
  ['the same, while fresh mail is delivered', { isOverdue: true, isBusy: true, ended: 200 }, true],
  ['mail that is claimed again and again, and never tried', { isOverdue: true, claimed: 200 }, true],
  ['mail in hand that comes to no end', { isBusy: true }, true],
  ['a queue that is worked off', { isOverdue: true, isBusy: true, claimed: 101, ended: 101 }, false],
  ['fresh mail that is delivered', { isBusy: true, ended: 101 }, false],
])('%s', (_, changes, standsStill) => {
  expect(standstillAt(look(changes), before)).toEqual(
    standsStill ? before : { at: 60, claimed: changes.claimed ?? 100, ended: changes.ended ?? 100 },
  )
})

test('it moves where one has moved at one look, and the other at the next', () => {
  const first = standstillAt(look({ at: 60, isOverdue: true, isBusy: true, ended: 101 }), before)
  expect(first).toEqual(before)
  expect(standstillAt(look({ at: 120, isOverdue: true, isBusy: true, ended: 101, claimed: 101 }), first).at).toBe(120)
})
