import { expect, test } from 'vitest'
import { DestinationDirectory } from '../../src/queue/destination-directory.ts'
import { DueHeap } from '../../src/queue/due-heap.ts'
import fc from 'fast-check'

test('what is due comes out in order of time, whatever the order it went in', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1000)), (times) => {
      const heap = new DueHeap()
      times.forEach((time, place) => heap.push(`key ${place}`, time))
      const out = times.map(() => heap.pop()?.dueAt)
      expect(out).toEqual(times.toSorted((a, b) => a - b))
      expect(heap.pop()).toBeUndefined()
      expect(heap.firstDueAt).toBe(Infinity)
    }),
  )
})

test('destinations are given out when they are due, each with the room it has', () => {
  const directory = new DestinationDirectory(10, 1000)
  directory.noteWaiting('later.example', 200)
  directory.noteWaiting('now.example', 100)
  expect(directory.nextLookAt(50)).toBe(100)
  expect(directory.next(99)).toBeUndefined()
  expect(directory.next(100)).toEqual({ name: 'now.example', room: 10, isProbe: false })
  expect(directory.next(150)).toBeUndefined()
  expect(directory.next(200)).toEqual({ name: 'later.example', room: 10, isProbe: false })
})

test('a destination with as much in hand as may be waits until something is let go, and holds up nobody', () => {
  const directory = new DestinationDirectory(2, 1000)
  directory.tookInHand('slow.example', 2, 0)
  directory.noteWaiting('slow.example', 100)
  directory.noteWaiting('quick.example', 150)
  expect(directory.next(150)).toEqual({ name: 'quick.example', room: 2, isProbe: false })
  expect(directory.next(150)).toBeUndefined()
  directory.letGo('slow.example', 1, 0)
  expect(directory.next(150)).toEqual({ name: 'slow.example', room: 1, isProbe: false })
})

test('however many destinations hang, there is room for another', () => {
  const directory = new DestinationDirectory(64, 4000)
  for (let i = 0; i < 500; i++) directory.noteWaiting(`hangs${i}.example`, 100)
  let inHand = 0
  for (let next = directory.next(100); next; next = directory.next(100)) {
    directory.tookInHand(next.name, next.room, 0)
    directory.noteWaiting(next.name, 100)
    inHand += next.room
  }
  expect(inHand).toBeLessThan(2000)
  directory.noteWaiting('quick.example', 200)
  expect(directory.next(200)).toEqual({ name: 'quick.example', room: expect.any(Number), isProbe: false })
})

test('an earlier time replaces a later one', () => {
  const directory = new DestinationDirectory(2, 1000)
  directory.noteWaiting('a.example', 500)
  directory.noteWaiting('a.example', 100)
  directory.noteWaiting('a.example', 900)
  expect(directory.next(100)).toEqual({ name: 'a.example', room: 2, isProbe: false })
  expect(directory.next(1000)).toBeUndefined()
})

test('new mail queues up behind mail that is due, and where too much is in hand', () => {
  const directory = new DestinationDirectory(2, 1000)
  expect(directory.isBehind('a.example', 100)).toBe(false)
  directory.noteWaiting('a.example', 100)
  expect(directory.isBehind('a.example', 99)).toBe(false)
  expect(directory.isBehind('a.example', 100)).toBe(true)
  directory.next(100)
  expect(directory.isBehind('a.example', 100)).toBe(false)
  directory.tookInHand('a.example', 4, 0)
  expect(directory.isBehind('a.example', 100)).toBe(true)
})

test('the oldest of what waits is known, full destinations among it, and what was claimed is not', () => {
  const directory = new DestinationDirectory(2, 1000)
  expect(directory.oldestDueAt).toBe(Infinity)
  directory.noteWaiting('a.example', 300)
  directory.noteWaiting('a.example', 100)
  directory.noteWaiting('b.example', 200)
  expect(directory.oldestDueAt).toBe(100)
  directory.next(100)
  expect(directory.oldestDueAt).toBe(200)
  directory.tookInHand('a.example', 2, 0)
  directory.noteWaiting('a.example', 150)
  expect(directory.next(150)).toBeUndefined()
  expect(directory.oldestDueAt).toBe(150)
  directory.letGo('a.example', 2, 0)
  expect(directory.oldestDueAt).toBe(150)
})
