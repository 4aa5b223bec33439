import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ContentBudget } from '../../../src/mail-out/queue/content-budget.ts'

const megabyte = 1024 * 1024
const read = async () => new Uint8Array(1)

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** What a promise has come to by now. */
async function now<T>(promise: Promise<T>): Promise<T | 'waits'> {
  await vi.advanceTimersByTimeAsync(0)
  return Promise.race([promise, Promise.resolve('waits' as const)])
}

let destinations = 0
/** For a destination of its own, unless given. */
const supplyOf = (room: ContentBudget, megabytes: number, destination = `d${destinations++}.example`) =>
  room.supply(destination, { size: megabytes * megabyte, along: null, read })

test('large content that is kept in memory leaves room for small content', async () => {
  const room = new ContentBudget()
  const large = [20, 20, 20].map((size) => supplyOf(room, size))
  const taken = large.map((supply) => supply.take())
  expect(await now(Promise.all(taken.slice(0, 2)))).toEqual([new Uint8Array(1), new Uint8Array(1)])
  expect(await now(taken[2]!)).toBe('waits')
  expect(await now(supplyOf(room, 1).take())).toEqual(new Uint8Array(1))
  large[0]?.giveBack()
  expect(await now(taken[2]!)).toEqual(new Uint8Array(1))
})

test('what finds no room in time gets none, and what is behind it is not held up', async () => {
  const room = new ContentBudget()
  await supplyOf(room, 40).take()
  const waiting = [supplyOf(room, 20).take(), supplyOf(room, 5).take()]
  expect(await now(waiting[1]!)).toBe('waits')
  await vi.advanceTimersByTimeAsync(30_000)
  expect(await Promise.all(waiting)).toEqual([null, new Uint8Array(1)])
})

test('a job that has ended holds nothing, and gets nothing any more', async () => {
  const room = new ContentBudget()
  const [first, second] = [supplyOf(room, 48), supplyOf(room, 48)]
  await first.take()
  const late = second.take()
  second.end()
  first.end()
  expect(await now(late)).toBeNull()
  expect(await now(supplyOf(room, 48).take())).toEqual(new Uint8Array(1))
})

test('content that cannot be read gives its room back', async () => {
  const room = new ContentBudget()
  const fail = async () => {
    throw new Error('gone')
  }
  await expect(room.supply('d.example', { size: 48 * megabyte, along: null, read: fail }).take()).rejects.toThrow('gone')
  expect(await now(supplyOf(room, 48).take())).toEqual(new Uint8Array(1))
})

test('of one destination large messages are under way within its share, one after the other; others and small ones do not wait', async () => {
  const room = new ContentBudget()
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const work = (name: string, destination: string, megabytes: number) =>
    room.inTurn(
      destination,
      megabytes * megabyte,
      () =>
        new Promise((resolve) => {
          begun.push(name)
          ends.set(name, resolve)
        }),
    )
  const all = [work('a1', 'a', 20), work('a2', 'a', 10), work('a3', 'a', 6), work('b1', 'b', 20), work('a4', 'a', 0.01)]
  await vi.advanceTimersByTimeAsync(0)
  expect(begun.toSorted()).toEqual(['a1', 'a4', 'b1'])
  ends.get('a1')?.()
  await vi.advanceTimersByTimeAsync(0)
  expect(begun.slice(3)).toEqual(['a2', 'a3'])
  for (const end of ends.values()) end()
  await Promise.all(all)
})

test.each([
  ['small', 1, 20],
  ['large', 8, 6],
])('a destination whose host asks for %s content and does not take it leaves room for others', async (_, size, count) => {
  const room = new ContentBudget()
  const hanging = Array.from({ length: count }, () => supplyOf(room, size, 'hangs.example'))
  const taken = hanging.map((supply) => supply.take())
  expect(await now(taken[0]!)).toEqual(new Uint8Array(1))
  expect(await now(taken.at(-1)!)).toBe('waits')
  expect(await now(supplyOf(room, size).take())).toEqual(new Uint8Array(1))
  for (const supply of hanging) supply.end()
  expect(await now(supplyOf(room, size, 'hangs.example').take())).toEqual(new Uint8Array(1))
})
