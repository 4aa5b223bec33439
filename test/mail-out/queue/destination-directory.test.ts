import { expect, test } from 'vitest'
import { DestinationDirectory } from '../../../src/mail-out/queue/destination-directory.ts'
import { DueHeap } from '../../../src/platform/due-heap.ts'
import fc from 'fast-check'

test('what is due comes out in order of time, whatever the order it went in', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(1000), fc.constant(Infinity))), (times) => {
      const heap = new DueHeap()
      times.forEach((time, place) => heap.push({ key: `key ${place}`, dueAt: time }))
      const out = times.map(() => heap.pop()?.dueAt)
      expect(out).toEqual(times.toSorted((a, b) => (a === b ? 0 : a - b)))
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
  directory.claimed('slow.example', 2, 0)
  directory.noteWaiting('slow.example', 100)
  directory.noteWaiting('quick.example', 150)
  expect(directory.next(150)).toEqual({ name: 'quick.example', room: 2, isProbe: false })
  expect(directory.next(150)).toBeUndefined()
  directory.released('slow.example', 1, 0)
  expect(directory.next(150)).toEqual({ name: 'slow.example', room: 1, isProbe: false })
})

test('however many destinations hang, there is room for another', () => {
  const directory = new DestinationDirectory(64, 4000)
  for (let i = 0; i < 500; i++) directory.noteWaiting(`hangs${i}.example`, 100)
  let inHand = 0
  for (let next = directory.next(100); next; next = directory.next(100)) {
    directory.claimed(next.name, next.room, 0)
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
  directory.claimed('a.example', 4, 0)
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
  directory.claimed('a.example', 2, 0)
  directory.noteWaiting('a.example', 150)
  expect(directory.next(150)).toBeUndefined()
  expect(directory.oldestDueAt).toBe(150)
  directory.released('a.example', 2, 0)
  expect(directory.oldestDueAt).toBe(150)
})

const down = (until: number) => ({ key: '192.0.2.1 25', until, reason: 'refused' })

/** Mail that is due waits for more destinations than there is room for those that are not known. */
function fillWithStrangers(directory: DestinationDirectory, now: number): void {
  for (let i = 0; i < 3_000; i++) directory.noteWaiting(`stranger${i}.example`, now)
  for (let turn = directory.next(now); turn; turn = directory.next(now)) directory.claimed(turn.name, turn.room, now)
}

test('a destination that has answered has room though more than are let in hang, and a stranger has not', () => {
  const directory = new DestinationDirectory(64, 4000)
  directory.noteAttempt('known.example', 0, 0)
  fillWithStrangers(directory, 100)
  expect(directory.inFlight).toBe(2_000)
  expect(directory.isBehind('another.example', 100)).toBe(true)
  expect(directory.isBehind('known.example', 100)).toBe(false)
  directory.noteWaiting('known.example', 200)
  expect(directory.next(200)).toMatchObject({ name: 'known.example', room: 64 })
})

test('a destination that hangs loses the room of those that answer, until it answers again', () => {
  const directory = new DestinationDirectory(1, 4)
  for (const name of ['one.example', 'two.example', 'three.example']) directory.noteAttempt(name, 0, 0)
  directory.claimed('one.example', 1, 0)
  directory.claimed('two.example', 1, 1_000)
  directory.noteWaiting('three.example', 1_500)
  expect(directory.next(1_500)).toBeUndefined()
  expect(directory.nextLookAt(1_500)).toBe(2_000)
  expect(directory.next(2_000)).toMatchObject({ name: 'three.example' })
  directory.released('two.example', 1, 2_500)
  directory.claimed('three.example', 1, 2_500)
  directory.noteAttempt('one.example', 0, 2_500)
  directory.noteWaiting('four.example', 2_600)
  expect(directory.next(2_600)).toMatchObject({ name: 'four.example' })
})

test('what rests waits for its probe: one recipient of one destination; all wake when it answers', () => {
  const directory = new DestinationDirectory(64, 4000)
  for (const name of ['a.example', 'b.example']) {
    directory.noteWaiting(name, 100)
    directory.backOff(name, down(5_000))
  }
  expect(directory.isBehind('a.example', 0)).toBe(true)
  expect([directory.next(4_999), directory.nextLookAt(4_999), directory.oldestDueAt]).toEqual([undefined, 5_000, Infinity])
  expect(directory.next(5_000)).toEqual({ name: 'a.example', room: 1, isProbe: true })
  directory.claimed('a.example', 1, 5_000)
  directory.noteWaiting('a.example', 100)
  expect(directory.next(5_001)).toBeUndefined()
  directory.backOff('a.example', down(15_000))
  directory.released('a.example', 1, 5_002)
  expect(directory.next(14_999)).toBeUndefined()
  expect(directory.next(15_000)).toMatchObject({ isProbe: true })
  directory.wake('a.example')
  directory.noteWaiting('a.example', 100)
  const woken = [directory.next(15_001), directory.next(15_001)]
  expect(woken.map((turn) => `${turn?.name} ${turn?.room}`).toSorted()).toEqual(['a.example 64', 'b.example 64'])
})

test('a probe without a result is repeated; there is none unless mail is due', () => {
  const directory = new DestinationDirectory(64, 4000)
  directory.noteWaiting('a.example', 60_000)
  directory.backOff('a.example', down(5_000))
  expect([directory.next(5_000), directory.nextLookAt(5_000)]).toEqual([undefined, 60_000])
  directory.noteWaiting('a.example', 20_000)
  expect(directory.next(20_000)).toMatchObject({ isProbe: true })
  directory.noteWaiting('a.example', 20_000)
  expect([directory.next(24_999), directory.next(25_000)]).toMatchObject([undefined, { isProbe: true }])
})

test('there is no second probe while the first is under way', () => {
  const directory = new DestinationDirectory(64, 4000)
  for (const name of ['a.example', 'b.example']) {
    directory.noteWaiting(name, 0)
    directory.backOff(name, down(5_000))
  }
  expect(directory.next(5_000)).toMatchObject({ name: 'a.example', isProbe: true })
  directory.claimed('a.example', 1, 5_000)
  expect([directory.next(10_000), directory.next(200_000)]).toEqual([undefined, undefined])
  directory.released('a.example', 1, 200_000)
  expect(directory.next(205_000)).toMatchObject({ name: 'b.example', isProbe: true })
})

test('a destination that nothing waits for any more is forgotten, and so is that it rests', () => {
  const directory = new DestinationDirectory(64, 4000)
  directory.claimed('a.example', 1, 0)
  directory.backOff('a.example', down(5_000))
  expect([...directory.inBackoff]).toEqual([{ name: 'a.example', reason: 'refused' }])
  directory.released('a.example', 1, 0)
  expect([...directory.inBackoff]).toEqual([])
  expect(directory.isBehind('a.example', 0)).toBe(false)
  expect(directory.nextLookAt(0)).toBe(Infinity)
})
