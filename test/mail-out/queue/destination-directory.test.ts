import { expect, test } from 'vitest'
import { DestinationDirectory } from '../../../src/mail-out/queue/destination-directory.ts'
import { destinationKey } from '../../../src/mail-out/queue/destination-key.ts'
import { DueHeap } from '../../../src/platform/due-heap.ts'
import type { Lane } from '../../../src/mail-out/queue/queue-store.ts'
import fc from 'fast-check'

const laneOf = (destination: string, account_id: string, urgent: 0 | 1 = 0): Lane => ({ destination, account_id, urgent })
const usual = (destination: string): Lane => laneOf(destination, 'acc_1')
/** Its hosts have answered. */
const answers = (directory: DestinationDirectory, ...names: string[]): void => names.forEach((name) => directory.noteAttempt(name, 0, 0))

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
  answers(directory, 'later.example', 'now.example')
  directory.noteWaiting(usual('later.example'), 200)
  directory.noteWaiting(usual('now.example'), 100)
  expect(directory.nextLookAt(50)).toBe(100)
  expect(directory.next(99)).toBeUndefined()
  expect(directory.next(100)).toEqual({ lane: usual('now.example'), room: 10, isProbe: false })
  expect(directory.next(150)).toBeUndefined()
  expect(directory.next(200)).toEqual({ lane: usual('later.example'), room: 10, isProbe: false })
})

test('a destination with as much in hand as may be waits until something is let go, and holds up nobody', () => {
  const directory = new DestinationDirectory(2, 1000)
  directory.claimed('slow.example', 2, 0)
  directory.noteWaiting(usual('slow.example'), 100)
  directory.noteWaiting(usual('quick.example'), 150)
  expect(directory.next(150)).toEqual({ lane: usual('quick.example'), room: 2, isProbe: false })
  expect(directory.next(150)).toBeUndefined()
  directory.released('slow.example', 1, 0)
  expect(directory.next(150)).toEqual({ lane: usual('slow.example'), room: 1, isProbe: false })
})

test('a stranger has little in hand until it answers, and again once it does not', () => {
  const directory = new DestinationDirectory(64, 4000)
  const lane = usual('new.example')
  const claim = (): number | undefined => {
    directory.noteWaiting(lane, 100)
    const turn = directory.next(100)
    if (turn) directory.claimed('new.example', turn.room, 100)
    return turn?.room
  }
  expect([claim(), claim()]).toEqual([5, undefined])
  expect(directory.isBehind('new.example', 0)).toBe(true)
  directory.noteAttempt('new.example', 0, 100)
  directory.released('new.example', 1, 100)
  expect([claim(), claim()]).toEqual([60, undefined])
  directory.released('new.example', 60, 100)
  directory.noteAttempt('new.example', null, 100)
  expect(claim()).toBe(1)
})

test('however many destinations hang, there is room for another', () => {
  const directory = new DestinationDirectory(64, 4000)
  for (let i = 0; i < 500; i++) directory.noteWaiting(usual(`hangs${i}.example`), 100)
  let inHand = 0
  for (let next = directory.next(100); next; next = directory.next(100)) {
    directory.claimed(next.lane.destination, next.room, 0)
    directory.noteWaiting(next.lane, 100)
    inHand += next.room
  }
  expect(inHand).toBeLessThan(2000)
  directory.noteWaiting(usual('quick.example'), 200)
  expect(directory.next(200)).toEqual({ lane: usual('quick.example'), room: expect.any(Number), isProbe: false })
})

test('an earlier time replaces a later one', () => {
  const directory = new DestinationDirectory(2, 1000)
  directory.noteWaiting(usual('a.example'), 500)
  directory.noteWaiting(usual('a.example'), 100)
  directory.noteWaiting(usual('a.example'), 900)
  expect(directory.next(100)).toEqual({ lane: usual('a.example'), room: 2, isProbe: false })
  expect(directory.next(1000)).toBeUndefined()
})

test('new mail queues up behind mail that is due, and where too much is in hand', () => {
  const directory = new DestinationDirectory(2, 1000)
  expect(directory.isBehind('a.example', 100)).toBe(false)
  directory.noteWaiting(usual('a.example'), 100)
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
  directory.noteWaiting(usual('a.example'), 300)
  directory.noteWaiting(usual('a.example'), 100)
  directory.noteWaiting(usual('b.example'), 200)
  expect(directory.oldestDueAt).toBe(100)
  directory.next(100)
  expect(directory.oldestDueAt).toBe(200)
  directory.claimed('a.example', 2, 0)
  directory.noteWaiting(usual('a.example'), 150)
  expect(directory.next(150)).toBeUndefined()
  expect(directory.oldestDueAt).toBe(150)
  directory.released('a.example', 2, 0)
  expect(directory.oldestDueAt).toBe(150)
})

const down = (until: number) => ({ key: '192.0.2.1 25', until, reason: 'refused' })

/** Mail that is due waits for more destinations than there is room for those that are not known. */
function fillWithStrangers(directory: DestinationDirectory, now: number): void {
  for (let i = 0; i < 3_000; i++) directory.noteWaiting(usual(`stranger${i}.example`), now)
  for (let turn = directory.next(now); turn; turn = directory.next(now)) directory.claimed(turn.lane.destination, turn.room, now)
}

test('a destination that has answered has room though more than are let in hang, and a stranger has not', () => {
  const directory = new DestinationDirectory(64, 4000)
  directory.noteAttempt('known.example', 0, 0)
  fillWithStrangers(directory, 100)
  expect(directory.inFlight).toBe(2_000)
  expect(directory.isBehind('another.example', 100)).toBe(true)
  expect(directory.isBehind('known.example', 100)).toBe(false)
  directory.noteWaiting(usual('known.example'), 200)
  expect(directory.next(200)).toMatchObject({ lane: usual('known.example'), room: 64 })
})

test('a destination that hangs loses the room of those that answer, until it answers again', () => {
  const directory = new DestinationDirectory(1, 4)
  for (const name of ['one.example', 'two.example', 'three.example']) directory.noteAttempt(name, 0, 0)
  directory.claimed('one.example', 1, 0)
  directory.claimed('two.example', 1, 1_000)
  directory.noteWaiting(usual('three.example'), 1_500)
  expect(directory.next(1_500)).toBeUndefined()
  expect(directory.nextLookAt(1_500)).toBe(2_000)
  expect(directory.next(2_000)).toMatchObject({ lane: usual('three.example') })
  directory.released('two.example', 1, 2_500)
  directory.claimed('three.example', 1, 2_500)
  directory.noteAttempt('one.example', 0, 2_500)
  directory.noteWaiting(usual('four.example'), 2_600)
  expect(directory.next(2_600)).toMatchObject({ lane: usual('four.example') })
})

test('what rests waits for its probe: one recipient of one destination; all wake when it answers', () => {
  const directory = new DestinationDirectory(64, 4000)
  for (const name of ['a.example', 'b.example']) {
    directory.noteWaiting(usual(name), 100)
    directory.backOff(name, down(5_000))
  }
  expect(directory.isBehind('a.example', 0)).toBe(true)
  expect([directory.next(4_999), directory.nextLookAt(4_999), directory.oldestDueAt]).toEqual([undefined, 5_000, Infinity])
  expect(directory.next(5_000)).toEqual({ lane: usual('a.example'), room: 1, isProbe: true })
  directory.claimed('a.example', 1, 5_000)
  directory.noteWaiting(usual('a.example'), 100)
  expect(directory.next(5_001)).toBeUndefined()
  directory.backOff('a.example', down(15_000))
  directory.released('a.example', 1, 5_002)
  expect(directory.next(14_999)).toBeUndefined()
  expect(directory.next(15_000)).toMatchObject({ isProbe: true })
  directory.wake('a.example')
  directory.noteWaiting(usual('a.example'), 100)
  const woken = [directory.next(15_001), directory.next(15_001)]
  expect(woken.map((turn) => `${turn?.lane.destination} ${turn?.room}`).toSorted()).toEqual(['a.example 5', 'b.example 5'])
})

test('a probe without a result is repeated; there is none unless mail is due', () => {
  const directory = new DestinationDirectory(64, 4000)
  directory.noteWaiting(usual('a.example'), 60_000)
  directory.backOff('a.example', down(5_000))
  expect([directory.next(5_000), directory.nextLookAt(5_000)]).toEqual([undefined, 60_000])
  directory.noteWaiting(usual('a.example'), 20_000)
  expect(directory.next(20_000)).toMatchObject({ isProbe: true })
  directory.noteWaiting(usual('a.example'), 20_000)
  expect([directory.next(24_999), directory.next(25_000)]).toMatchObject([undefined, { isProbe: true }])
})

test('there is no second probe while the first is under way', () => {
  const directory = new DestinationDirectory(64, 4000)
  for (const name of ['a.example', 'b.example']) {
    directory.noteWaiting(usual(name), 0)
    directory.backOff(name, down(5_000))
  }
  expect(directory.next(5_000)).toMatchObject({ lane: usual('a.example'), isProbe: true })
  directory.claimed('a.example', 1, 5_000)
  expect([directory.next(10_000), directory.next(200_000)]).toEqual([undefined, undefined])
  directory.released('a.example', 1, 200_000)
  expect(directory.next(205_000)).toMatchObject({ lane: usual('b.example'), isProbe: true })
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

/** Takes each turn that there is, and says whose they were and how much they got. */
function turnsAt(directory: DestinationDirectory, now: number): string[] {
  const turns: string[] = []
  for (let turn = directory.next(now); turn; turn = directory.next(now)) {
    directory.claimed(destinationKey(turn.lane), turn.room, now)
    turns.push(`${turn.lane.account_id}${turn.lane.urgent ? '!' : ''} ${turn.room}`)
  }
  return turns
}

test('accounts with mail for the same destination share its room, and take turns whatever the age of their mail', () => {
  const directory = new DestinationDirectory(8, 1000)
  const [a, b, c] = ['acc_a', 'acc_b', 'acc_c'].map((account) => laneOf('a.example', account)) as [Lane, Lane, Lane]
  answers(directory, 'a.example')
  directory.noteWaiting(a, 100)
  expect(turnsAt(directory, 500)).toEqual(['acc_a 8'])
  directory.noteWaiting(a, 101)
  directory.noteWaiting(b, 400)
  directory.noteWaiting(c, 600)
  expect(directory.oldestDueAt).toBe(101)
  const served: string[] = []
  for (let i = 0; i < 5; i++) {
    directory.released('a.example', 1, 500 + i)
    served.push(...turnsAt(directory, 500 + i))
    directory.noteWaiting(a, 102 + i)
    directory.noteWaiting(b, 401 + i)
  }
  expect(served).toEqual(['acc_a 1', 'acc_b 1', 'acc_a 1', 'acc_b 1', 'acc_a 1'])
  directory.released('a.example', 8, 600)
  expect(turnsAt(directory, 600)).toEqual(['acc_b 3', 'acc_a 3', 'acc_c 2'])
})

test('urgent mail goes first, and has room where the rest has none', () => {
  const directory = new DestinationDirectory(4, 8)
  const urgent = laneOf('a.example', 'acc_b', 1)
  answers(directory, 'a.example')
  directory.noteWaiting(laneOf('a.example', 'acc_a'), 100)
  directory.noteWaiting(laneOf('b.example', 'acc_a'), 100)
  directory.noteWaiting(urgent, 300)
  expect(turnsAt(directory, 300)[0]).toBe('acc_b! 16')
  directory.noteWaiting(laneOf('a.example', 'acc_a'), 100)
  expect([directory.isBehind('a.example', 300), directory.isBehind(destinationKey(urgent), 300)]).toEqual([true, true])
  directory.released(destinationKey(urgent), 16, 300)
  expect([directory.isBehind('a.example', 300), directory.isBehind(destinationKey(urgent), 300)]).toEqual([true, false])
})

test('urgent mail for a destination that answers has room though more are slow than are let in, and loses it if that hangs', () => {
  const directory = new DestinationDirectory(64, 4000)
  const known = laneOf('known.example', 'acc_b', 1)
  directory.noteAttempt('known.example', 0, 0)
  for (let i = 0; i < 600; i++) directory.noteWaiting(laneOf(`slow${i}.example`, 'acc_a', 1), 100)
  expect(turnsAt(directory, 100).length).toBeLessThan(600)
  directory.noteWaiting(known, 200)
  expect(directory.next(200)).toEqual({ lane: known, room: 16, isProbe: false })
  directory.claimed(destinationKey(known), 16, 200)
  directory.noteWaiting(known, 200)
  directory.next(2_200)
  directory.released(destinationKey(known), 8, 2_300)
  expect(directory.next(2_300)).toBeUndefined()
  expect(directory.isBehind(destinationKey(known), 2_300)).toBe(true)
  directory.noteAttempt('known.example', 0, 2_400)
  expect(directory.next(2_400)).toMatchObject({ lane: known })
})

test('what waits for a host that is down is tried by usual mail; urgent mail waits with it, and wakes with it', () => {
  const directory = new DestinationDirectory(4, 1000)
  const [usualMail, urgent] = [laneOf('a.example', 'acc_a'), laneOf('a.example', 'acc_b', 1)]
  directory.noteWaiting(usualMail, 100)
  directory.noteWaiting(urgent, 50)
  directory.backOff('a.example', down(5_000))
  expect([directory.next(4_999), directory.isBehind(destinationKey(urgent), 4_999)]).toEqual([undefined, true])
  expect(directory.next(5_000)).toEqual({ lane: usualMail, room: 1, isProbe: true })
  expect(directory.next(10_000)).toEqual({ lane: urgent, room: 1, isProbe: true })
  directory.noteWaiting(urgent, 50)
  directory.wake('a.example')
  expect(directory.next(10_001)).toEqual({ lane: urgent, room: 5, isProbe: false })
})
