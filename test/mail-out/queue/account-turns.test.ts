import { expect, test } from 'vitest'
import { AccountTurns } from '../../../src/mail-out/queue/account-turns.ts'

test('a single account has its turn when its first mail is due', () => {
  const turns = new AccountTurns()
  turns.note('a', 20)
  turns.note('a', 10)
  turns.note('a', 30)
  expect(turns.firstDueAt).toBe(10)
  expect(turns.next(9)).toBeUndefined()
  expect(turns.next(10)).toEqual({ accountId: 'a', others: 0 })
  expect([turns.firstDueAt, turns.next(100)]).toEqual([Infinity, undefined])
})

test('several accounts take turns once their mail is due, however old it is', () => {
  const turns = new AccountTurns()
  turns.note('a', 1)
  turns.note('b', 5)
  turns.note('c', 50)
  expect(turns.firstDueAt).toBe(1)
  expect(turns.next(10)).toEqual({ accountId: 'a', others: 1 })
  turns.note('a', 2)
  expect(turns.next(10)).toEqual({ accountId: 'b', others: 1 })
  expect(turns.next(10)).toEqual({ accountId: 'a', others: 0 })
  expect([turns.next(49), turns.firstDueAt]).toEqual([undefined, 50])
  expect(turns.next(50)).toEqual({ accountId: 'c', others: 0 })
  turns.note('a', 60)
  expect([turns.firstDueAt, turns.next(60)]).toEqual([60, { accountId: 'a', others: 0 }])
})
