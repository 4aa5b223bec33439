import { expect, test } from 'vitest'
import { DestinationDirectory } from '../../../src/mail-out/queue/destination-directory.ts'
import type { Lane } from '../../../src/mail-out/queue/queue-store.ts'

const lane = (destination: string): Lane => ({ destination, account_id: 'acc_1', urgent: 0 })
const stop = { key: 'provider:google from any address', until: 1_000, reason: '421 4.7.28 no' }
const [one, two, other] = ['one.example', 'two.example', 'other.example'] as const

/** Two destinations of a group and one of another, each with due mail. */
function start(): DestinationDirectory {
  const directory = new DestinationDirectory(10, 1_000)
  for (const name of [one, two]) directory.gate.noteGroup(name, 'provider:google')
  directory.gate.noteGroup(other, 'site:mx.other.example')
  for (const name of [one, two, other]) directory.noteWaiting(lane(name), 100)
  return directory
}

/** What may be claimed now, without ends: nothing is claimed again that waits. */
function claims(directory: DestinationDirectory, now: number): [string, number][] {
  const all: [string, number][] = []
  for (let turn = directory.next(now); turn; turn = directory.next(now)) all.push([turn.lane.destination, turn.room])
  return all
}

test('nothing is claimed for the destinations of a group that is stopped, and their new mail waits in the queue', () => {
  const directory = start()
  directory.setStop('provider:google', stop)
  expect(claims(directory, 500)).toEqual([[other, expect.any(Number)]])
  expect([one, two, 'new.example'].map((name) => directory.isBehind(name, 50))).toEqual([true, true, false])
  directory.gate.noteGroup('new.example', 'provider:google')
  expect(directory.isBehind('new.example', 50)).toBe(true)
  directory.noteWaiting(lane('new.example'), 600)
  expect([claims(directory, 700), directory.nextLookAt(700)]).toEqual([[], 1_000])
  expect(new Set(Array.from(directory.inBackoff, ({ name }) => name))).toEqual(new Set([one, two, 'new.example']))
})

test('one message tries again for the whole group, and mail flows once the stop ends', () => {
  const directory = start()
  directory.setStop('provider:google', stop)
  expect(claims(directory, 500)).toHaveLength(1)
  const probe = directory.next(1_000)
  expect(probe).toMatchObject({ lane: { destination: one }, room: 1, isProbe: true })
  directory.claimed(one, 1, 1_000)
  expect(directory.next(1_000)).toBeUndefined()
  directory.setStop('provider:google', null)
  directory.wake(one)
  directory.released(one, 1, 1_000)
  directory.noteWaiting(lane(one), 100)
  expect(new Set(claims(directory, 1_000).map(([name]) => name))).toEqual(new Set([one, two]))
})

test('a late acceptance wakes nobody, and another backoff that ends leaves the stop', () => {
  const directory = start()
  directory.setStop('provider:google', stop)
  expect(claims(directory, 500)).toHaveLength(1)
  directory.wake(one)
  expect(claims(directory, 500)).toEqual([])
  // Its own host is down too, and comes back.
  directory.backOff(two, { key: '192.0.2.1 25', until: 600, reason: 'no route' })
  directory.wake(two)
  expect(claims(directory, 999)).toEqual([])
  expect(directory.next(1_000)).toMatchObject({ isProbe: true })
})

test('a destination that has moved to other hosts leaves its group, which still waits', () => {
  const directory = start()
  directory.setStop('provider:google', stop)
  directory.gate.noteGroup(one, 'site:mx.one.example')
  directory.wake(one)
  expect(new Set(claims(directory, 500).map(([name]) => name))).toEqual(new Set([one, other]))
  expect(directory.next(1_000)).toMatchObject({ lane: { destination: two }, isProbe: true })
})

test('where mail may go another way nothing is held back, and what rested is claimed at once', () => {
  const directory = start()
  directory.setStop('provider:google', stop)
  expect(claims(directory, 500)).toHaveLength(1)
  directory.heedStops(false)
  expect(claims(directory, 500).map(([name]) => name)).toEqual([one, two])
  directory.setStop('provider:google', { ...stop, until: 2_000 })
  directory.gate.noteGroup('new.example', 'provider:google')
  directory.noteWaiting(lane('new.example'), 500)
  expect(claims(directory, 500).map(([name]) => name)).toEqual(['new.example'])
  // Who found its way found the stop. That way may have changed since.
  directory.backOff(one, stop)
  directory.noteWaiting(lane(one), 500)
  expect(claims(directory, 500)).toEqual([])
  directory.heedStops(false)
  expect(claims(directory, 500).map(([name]) => name)).toEqual([one])
  directory.heedStops(true)
  directory.noteWaiting(lane(two), 500)
  expect([claims(directory, 500), directory.nextLookAt(500)]).toEqual([[], 2_000])
})

test('a change of the routes that leaves none keeps back what waits for a stopped group, and wakes the rest', () => {
  const directory = start()
  directory.setStop('provider:google', stop)
  directory.backOff(other, { key: '192.0.2.1 25', until: 9_000, reason: 'no route' })
  directory.heedStops(true)
  expect([claims(directory, 500).map(([name]) => name), directory.nextLookAt(500)]).toEqual([[other], 1_000])
  expect(directory.next(1_000)).toMatchObject({ lane: { destination: one }, isProbe: true })
  directory.setStop('provider:google', null)
  expect(claims(directory, 1_000).map(([name]) => name)).toEqual([two])
})

test('a destination at its limit that turns out to be of a stopped group waits for the message that tries again', () => {
  const directory = new DestinationDirectory(10, 1_000)
  directory.noteWaiting(lane('new.example'), 100)
  const room = directory.next(100)?.room ?? 0
  directory.claimed('new.example', room, 100)
  directory.noteWaiting(lane('new.example'), 100)
  directory.setStop('provider:google', stop)
  expect(claims(directory, 500)).toEqual([])
  directory.gate.noteGroup('new.example', 'provider:google')
  directory.released('new.example', room, 500)
  expect([claims(directory, 500), directory.nextLookAt(500)]).toEqual([[], 1_000])
  expect(directory.next(1_000)).toMatchObject({ lane: { destination: 'new.example' }, isProbe: true })
})
