import type { IncomingMessage } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { BodyRoom } from '../../src/http/body-room.ts'

const requestOf = (length?: string) => ({ headers: length === undefined ? {} : { 'content-length': length } }) as IncomingMessage
const mebibyte = 1024 * 1024
afterEach(() => void vi.useRealTimers())

test('large bodies are let in up to what memory there is, small ones always', async () => {
  vi.useFakeTimers()
  const room = new BodyRoom()
  const leave = await Promise.all(Array.from({ length: 4 }, () => room.enter(requestOf(String(32 * mebibyte)))))
  await room.enter(requestOf('1000'))
  const waiting = room.enter(requestOf())
  const alsoWaiting = room.enter(requestOf('100000'))
  leave[0]?.()
  leave[1]?.()
  const leaveToo = await waiting
  await alsoWaiting
  leaveToo()
})

test('one that waits too long is refused, and what it waited for is not lost', async () => {
  vi.useFakeTimers()
  const room = new BodyRoom()
  const leave = await Promise.all(Array.from({ length: 4 }, () => room.enter(requestOf(String(32 * mebibyte)))))
  const refused = expect(room.enter(requestOf(String(32 * mebibyte)))).rejects.toMatchObject({ code: 'service_unavailable', retryAfter: 5 })
  await vi.advanceTimersByTimeAsync(20_000)
  await refused
  for (const one of leave) one()
  await Promise.all(Array.from({ length: 4 }, () => room.enter(requestOf(String(32 * mebibyte)))))
})
