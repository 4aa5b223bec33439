import type { IncomingMessage } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { BodyBudget } from '../../../src/api/http/body-budget.ts'

const requestOf = (length?: string) => ({ headers: length === undefined ? {} : { 'content-length': length } }) as IncomingMessage
const mebibyte = 1024 * 1024
let next = 0
afterEach(() => void vi.useRealTimers())

test('large bodies are let in up to what memory there is, small ones always', async () => {
  vi.useFakeTimers()
  const room = new BodyBudget()
  const leave = await Promise.all(Array.from({ length: 4 }, () => room.enter(requestOf(String(32 * mebibyte)), `acc_${next++ % 4}`)))
  await room.enter(requestOf('1000'), 'acc_1')
  const waiting = room.enter(requestOf(), 'acc_1')
  const alsoWaiting = room.enter(requestOf('100000'), 'acc_2')
  leave[0]?.()
  leave[1]?.()
  const leaveToo = await waiting
  await alsoWaiting
  leaveToo()
})

test("an account's bodies leave room for another's largest, however many and slow they are", async () => {
  vi.useFakeTimers()
  const room = new BodyBudget()
  const held = Array.from({ length: 20 }, () => room.enter(requestOf(String(16 * mebibyte)), 'acc_1'))
  const refused = held.slice(5).map((one) => expect(one).rejects.toMatchObject({ code: 'service_unavailable' }))
  const leave = await Promise.all(held.slice(0, 5))
  const other = await room.enter(requestOf(), 'acc_2')
  await vi.advanceTimersByTimeAsync(20_000)
  await Promise.all(refused)
  for (const one of [...leave, other]) one()
})

test('one that waits too long is refused, and what it waited for is not lost', async () => {
  vi.useFakeTimers()
  const room = new BodyBudget()
  const leave = await Promise.all(Array.from({ length: 4 }, () => room.enter(requestOf(String(32 * mebibyte)), `acc_${next++ % 4}`)))
  const refused = expect(room.enter(requestOf(String(32 * mebibyte)), `acc_${next++ % 4}`)).rejects.toMatchObject({
    code: 'service_unavailable',
    retryAfter: 5,
  })
  await vi.advanceTimersByTimeAsync(20_000)
  await refused
  for (const one of leave) one()
  await Promise.all(Array.from({ length: 4 }, () => room.enter(requestOf(String(32 * mebibyte)), `acc_${next++ % 4}`)))
})
