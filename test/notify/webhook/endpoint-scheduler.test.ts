import { expect, test } from 'vitest'
import { EndpointScheduler, type Endpoint } from '../../../src/notify/webhook/endpoint-scheduler.ts'

/** Endpoints with so many deliveries due; attempts go on until the test ends them. */
function workshop(limits: ConstructorParameters<typeof EndpointScheduler>[1] = {}) {
  const due = new Map<string, number>()
  const inHand: Endpoint[] = []
  const turns = new EndpointScheduler((endpoint) => {
    const wanted = turns.reserve(endpoint)
    const claimed = Math.min(wanted, due.get(endpoint.id) ?? 0)
    due.set(endpoint.id, (due.get(endpoint.id) ?? 0) - claimed)
    for (let i = 0; i < claimed; i++) inHand.push(endpoint)
    turns.claimed(endpoint, { unused: wanted - claimed, waiting: 0 })
    if (claimed === wanted) turns.request(endpoint.id)
  }, limits)
  return {
    inHandOf: (id: string) => inHand.filter((endpoint) => endpoint.id === id).length,
    inHand,
    add(id: string, count: number) {
      due.set(id, (due.get(id) ?? 0) + count)
      turns.request(id)
    },
    end(id: string, succeeded: boolean) {
      const place = inHand.findIndex((endpoint) => endpoint.id === id)
      const [endpoint] = inHand.splice(place, 1)
      if (endpoint) turns.ended(endpoint, succeeded)
    },
  }
}

test('a hanging endpoint holds five connections; one that responds gets more and more', () => {
  const { add, end, inHandOf } = workshop()
  add('hangs', 100)
  add('answers', 1_000)
  expect(inHandOf('hangs')).toBe(5)
  for (let i = 0; i < 60; i++) end('answers', true)
  expect(inHandOf('answers')).toBe(50)
  end('answers', false)
  expect(inHandOf('answers')).toBe(49)
  expect(inHandOf('hangs')).toBe(5)
})

test('a thousand hanging endpoints leave room for those that respond', () => {
  const { add, end, inHand, inHandOf } = workshop()
  for (let i = 0; i < 1_000; i++) add(`hangs ${i}`, 100)
  expect(inHand.length).toBeLessThan(2_000)
  expect(inHandOf('hangs 999')).toBe(1)
  add('answers', 2)
  expect(inHandOf('answers')).toBe(1)
  end('answers', true)
  expect(inHandOf('answers')).toBe(1)
  end('answers', true)
  expect(inHandOf('answers')).toBe(0)
})

test('without a free connection, endpoints wait their turn in order of arrival', () => {
  const { add, end, inHand, inHandOf } = workshop()
  for (let i = 0; i < 2_500; i++) add(`e${i}`, 2)
  expect(inHand.length).toBe(2_000)
  const waiting = Array.from({ length: 2_500 }, (_, i) => `e${i}`).filter((id) => inHandOf(id) === 0)
  const [first = '', second = ''] = waiting
  end('e0', false)
  expect([inHandOf(first), inHandOf(second)]).toEqual([1, 0])
  end('e1', false)
  expect([inHandOf(first), inHandOf(second)]).toEqual([1, 1])
  expect(inHand.length).toBe(2_000)
})

test('what waits for an earlier delivery of its email takes no place, and only so much is claimed', () => {
  let [claimed, inHand] = [0, 0]
  const turns = new EndpointScheduler((endpoint) => {
    const wanted = turns.reserve(endpoint)
    // All of one email, with no end of events.
    const waiting = inHand === 0 ? wanted - 1 : wanted
    claimed += wanted
    inHand = 1
    turns.claimed(endpoint, { unused: 0, waiting })
    own = endpoint
    turns.request(endpoint.id)
  })
  let own: Endpoint | undefined
  turns.request('a')
  expect(own).toMatchObject({ inFlight: 1 })
  const first = claimed
  // Half of what all endpoints share.
  expect(first).toBeLessThan(10_100)
  for (let i = 0; i < 100; i++) if (own) turns.passedOn(own, true)
  expect(own).toMatchObject({ inFlight: 1 })
  expect(claimed).toBeGreaterThanOrEqual(first + 100)
})

test('a lower limit on connections is shared the same way', () => {
  const { add, end, inHand, inHandOf } = workshop({ maxConnections: 20 })
  add('a', 100)
  add('b', 100)
  for (let i = 0; i < 30; i++) add(`e${i}`, 2)
  expect([inHandOf('a'), inHandOf('b'), inHandOf('e0')]).toEqual([5, 5, 1])
  expect(inHand.length).toBe(20)
  end('e0', true)
  expect(inHandOf('e10')).toBe(1)
})

test('of several nodes, each has its part of what an endpoint may have', () => {
  let nodes = 2
  const { add, end, inHandOf } = workshop({ partOf: (limit) => Math.max(1, Math.floor(limit / nodes)) })
  add('one', 1_000)
  expect(inHandOf('one')).toBe(2)
  for (let i = 0; i < 100; i++) end('one', true)
  expect(inHandOf('one')).toBe(25)
  nodes = 1
  end('one', true)
  expect(inHandOf('one')).toBe(50)
})
