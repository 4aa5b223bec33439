import { describe, expect, test } from 'vitest'
import {
  ConnectionSlots,
  restMs,
  type Crowding,
  type ConnectionSlot,
  type SlotLimits,
} from '../../../src/platform/connection/connection-slots.ts'

/** A house where each step takes a ms, and everybody's name is that of the network and a number; `known`: its account has its letter. */
function house(limits: Partial<SlotLimits> = {}) {
  let now = 0
  const told: Crowding[] = []
  const seats = new ConnectionSlots(
    { max: 4, maxStrangers: 1_000, maxPerNetwork: 4, countsKnown: true, ...limits },
    { steady: () => now, crowded: (crowding) => told.push(crowding) },
  )
  const inside = new Map<string, ConnectionSlot>()
  const steps: Record<string, (who: string, what?: string) => string | void> = {
    comes(name) {
      const left: string[] = []
      const before = [...inside.keys()]
      const network = name.startsWith('proxy') ? null : name.replace(/\d+$/, '')
      const seat = seats.take(network, () => {
        left.push(name)
        inside.delete(name)
      })
      if (typeof seat === 'string') return seat
      inside.set(name, seat)
      return before.find((other) => !inside.has(other)) ?? 'in'
    },
    does: (name) => inside.get(name)?.progress(),
    known(name) {
      if (inside.get(name)?.authenticated(name.replace(/\d+$/, '')) !== false) return
      steps['leaves']!(name)
      return 'account_full'
    },
    serves: (name, whom) => inside.get(name)?.serve(whom === 'nobody' ? null : (whom ?? null)),
    leaves(name) {
      inside.get(name)?.free()
      inside.delete(name)
    },
    ms: (passed) => void (now += Number(passed)),
  }
  return {
    told,
    inside,
    /** Of each that comes: `in`, or who had to leave for it, or why there was no seat. */
    run(story: string): string[] {
      return story.split(', ').flatMap((step) => {
        const [who = '', what = '', whom] = step.split(' ')
        now++
        return steps[what]!(who, whom) ?? []
      })
    },
  }
}

const rest = `${restMs} ms`

describe('who has to give way', () => {
  test.each<[what: string, limits: Partial<SlotLimits>, story: string, outcomes: string[]]>([
    ['nobody while there is room', {}, 'a1 comes, a2 comes, b1 comes, b2 comes', ['in', 'in', 'in', 'in']],
    ['nobody when another has left', { max: 1 }, 'a1 comes, a1 leaves, b1 comes', ['in', 'in']],
    ['the one that has done nothing for the longest time', { max: 2 }, `a1 comes, a2 comes, a1 does, b1 comes`, ['in', 'in', 'a2']],
    ['one of the network that has the most', {}, 'b1 comes, a1 comes, a2 comes, a3 comes, c1 comes', ['in', 'in', 'in', 'in', 'a1']],
    [
      'one of the network that has the most, also where it has done something since',
      {},
      'b1 comes, a1 comes, a2 comes, a3 comes, a1 does, a2 does, a3 does, c1 comes',
      ['in', 'in', 'in', 'in', 'a1'],
    ],
    [
      'one of its own where its network has the most',
      {},
      `b1 comes, a1 comes, a2 comes, a3 comes, ${rest}, a4 comes`,
      ['in', 'in', 'in', 'in', 'a1'],
    ],
    ['nobody of a network with no more than it would have itself', { max: 2 }, 'a1 comes, b1 comes, c1 comes', ['in', 'in', 'full']],
    ['one of those where all have rested', { max: 2 }, `a1 comes, b1 comes, ${rest}, a1 does, c1 comes`, ['in', 'in', 'b1']],
    [
      'the idlest of the account that has the most, also where it has done something since',
      {},
      'a1 comes, a1 known, a2 comes, a2 known, b1 comes, b1 known, c1 comes, c1 known, a1 does, a2 does, d1 comes',
      ['in', 'in', 'in', 'in', 'a1'],
    ],
    [
      'one that is known where nobody has more than one, after a rest',
      { max: 2 },
      `a1 comes, a1 known, b1 comes, b1 known, c1 comes, ${rest}, b1 does, c1 comes`,
      ['in', 'in', 'full', 'a1'],
    ],
    [
      'nobody who is known, once strangers have a quarter',
      {},
      `a1 comes, a1 known, a2 comes, a2 known, b1 comes, b1 known, x1 comes, y1 comes, ${rest}, y1 comes`,
      ['in', 'in', 'in', 'in', 'full', 'x1'],
    ],
    [
      'a stranger where there are as many as may be, though others are known',
      { maxStrangers: 1 },
      `a1 comes, a1 known, b1 comes, c1 comes, ${rest}, c2 comes`,
      ['in', 'in', 'full', 'b1'],
    ],
    [
      'nobody where the network has a newcomer already, however many come',
      {},
      'a1 comes, a2 comes, a3 comes, b1 comes, b2 comes, b3 comes',
      ['in', 'in', 'in', 'in', 'a1', 'full'],
    ],
    [
      'no proxy that all clients share, while a network has more',
      {},
      `proxy1 comes, proxy2 comes, a1 comes, a2 comes, ${rest}, a2 does, proxy3 comes`,
      ['in', 'in', 'in', 'in', 'a1'],
    ],
  ])('%s', (_what, limits, story, outcomes) => {
    expect(house(limits).run(story)).toEqual(outcomes)
  })
})

describe('a network with all the seats it may have', () => {
  test.each<[what: string, limits: Partial<SlotLimits>, story: string, outcomes: string[]]>([
    [
      'gives the seat of its own that has rested',
      { maxPerNetwork: 2 },
      `a1 comes, a2 comes, a1 does, ${rest}, a3 comes`,
      ['in', 'in', 'a2'],
    ],
    [
      'gives none of those that have just come',
      { maxPerNetwork: 2 },
      'a1 comes, a2 comes, a3 comes, b1 comes',
      ['in', 'in', 'network_full', 'in'],
    ],
    [
      'gives that of the account that fills it',
      { maxPerNetwork: 2 },
      `a1 comes, a2 comes, a1 known, a2 known, ${rest}, a3 comes`,
      ['in', 'in', 'a1'],
    ],
    [
      'gives none of those that are known and elsewhere',
      { max: 8, maxPerNetwork: 1 },
      `a1 comes, a1 known, b1 comes, b1 known, ${rest}, a2 comes`,
      ['in', 'in', 'network_full'],
    ],
    [
      'has others where those that are known do not count',
      { maxPerNetwork: 2, countsKnown: false },
      'a1 comes, a2 comes, a1 known, a3 comes, a4 comes',
      ['in', 'in', 'in', 'network_full'],
    ],
    [
      'has room again when one leaves, known or not',
      { maxPerNetwork: 2 },
      'a1 comes, a1 known, a2 comes, a1 leaves, a3 comes',
      ['in', 'in', 'in'],
    ],
    ['is none where it is a proxy', { maxPerNetwork: 1 }, 'proxy1 comes, proxy2 comes', ['in', 'in']],
  ])('%s', (_what, limits, story, outcomes) => {
    expect(house(limits).run(story)).toEqual(outcomes)
  })
})

describe('an account', () => {
  test.each<[what: string, limits: Partial<SlotLimits>, story: string, outcomes: string[]]>([
    ['has at most half of all seats', {}, 'a1 comes, a1 known, a2 comes, a2 known, a3 comes, a3 known', ['in', 'in', 'in', 'account_full']],
    [
      'gives its own idlest seat for a newcomer of its own',
      {},
      `a1 comes, a1 known, a2 comes, a2 known, ${rest}, a1 does, a3 comes, a3 known, a4 comes`,
      ['in', 'in', 'in', 'in'],
    ],
    ['is asked again on each request', {}, 'a1 comes, a1 known, a1 known, a2 comes, a2 known, a1 known', ['in', 'in']],
  ])('%s', (_what, limits, story, outcomes) => {
    expect(house(limits).run(story)).toEqual(outcomes)
  })

  test('with half of all seats loses the idle one', () => {
    const { run, inside } = house()
    run(`a1 comes, a1 known, a2 comes, a2 known, ${rest}, a1 does, a3 comes, a3 known`)
    expect([...inside.keys()]).toEqual(['a1', 'a3'])
  })
})

describe("a proxy's connection", () => {
  test('counts for whoever it serves', () => {
    const { run } = house()
    run('proxy1 comes, proxy1 serves x, proxy2 comes, proxy2 serves x, proxy3 comes, proxy3 serves y, proxy4 comes')
    expect(run('b1 comes')).toEqual(['proxy1'])
  })

  test('counts for no account once the request is answered', () => {
    const { run } = house()
    run('proxy1 comes, proxy1 known, proxy1 serves nobody, proxy2 comes, proxy2 known, proxy2 serves nobody')
    expect(run('proxy3 comes, proxy3 known')).toEqual(['in'])
  })
})

test('whoever comes from many networks with one key shuts nobody out, and strangers shut out no account', () => {
  const { run, inside } = house({ max: 400, maxPerNetwork: 40, countsKnown: false })
  const places = [...'abcdefghijklmnopqrst']
  const count = (pattern: RegExp): number => [...inside.keys()].filter((name) => pattern.test(name)).length
  run('app1 comes, app1 known, shop1 comes, shop1 known')
  for (let i = 0; i < 2_000; i++) {
    run(`key${i} comes, key${i} known`)
    if (i % 50 === 0) run(`${places[(i / 50) % 20]}x${i} comes`)
  }
  expect(count(/^key/)).toBe(200)
  run(Array.from({ length: 4_000 }, (_, i) => `${places[i % 20]}${places[i % 3]}y${i} comes`).join(', '))
  expect(inside.size).toBe(400)
  expect(count(/^key/)).toBe(200)
  expect(count(/^(app|shop)1$/)).toBe(2)
  expect(run('new1 comes, new1 known')[0]).toMatch(/y\d+$/)
})

test('a hundred idle strangers behind one address shut out nobody else behind it', () => {
  const { run, inside } = house({ max: 1_000, maxPerNetwork: 100 })
  run(Array.from({ length: 100 }, (_, i) => `a${i} comes`).join(', '))
  run(rest)
  expect(run('a100 comes, a101 comes, a102 comes')).toEqual(['a0', 'a1', 'a2'])
  expect(inside.size).toBe(100)
})

test('however many come from forty networks, one from each other network gets in and stays', () => {
  const { run, inside } = house({ max: 500, maxPerNetwork: 20 })
  const letters = 'abcdefghijklmnopqrst'
  const crowd = (from: number): string =>
    Array.from({ length: 2_000 }, (_, i) => `x${letters[i % 20]}${i % 40 < 20 ? 'y' : 'z'}${from + i} comes`).join(', ')
  run(crowd(0))
  for (const name of ['fair1', 'just1', 'good1']) expect(run(`${name} comes`)[0], name).toMatch(/^x/)
  run(`${rest}, ${crowd(2_000)}`)
  expect([...inside.keys()].filter((name) => !name.startsWith('x'))).toEqual(['fair1', 'just1', 'good1'])
  expect(inside.size).toBe(500)
})

test('at most 50 seats a second change between networks with as many; a network with fewer gets one', () => {
  const { run } = house({ max: 1_000, maxPerNetwork: 2_000 })
  // A step takes a ms.
  const comes = (from: number): string => Array.from({ length: 1_000 }, (_, i) => `a${from + i} comes`).join(', ')
  run(comes(0))
  run(rest)
  const changes = run(comes(1_000)).filter((outcome) => outcome !== 'full')
  expect(changes.length).toBeGreaterThan(90)
  expect(changes.length).toBeLessThan(110)
  expect(run('b1 comes')[0]).toMatch(/^a/)
})

test('reports a lack of seats at once, then once a minute with counts', () => {
  const { run, told } = house({ max: 1 })
  run('a1 comes, b1 comes, c1 comes')
  expect(told).toEqual([{ sentAway: 0, refused: 1 }])
  run('60000 ms, d1 comes')
  expect(told[1]).toEqual({ sentAway: 1, refused: 1 })
})
