import { afterEach, expect, test, vi } from 'vitest'
import { MinimumRate, creditAfter } from '../../../src/platform/connection/minimum-rate.ts'

const rate = { bytesPerSecond: 1_000, patienceMs: 30_000 }

test.each<[what: string, credit: number, passedMs: number, bytes: number, left: number]>([
  ['nothing comes', 30_000, 2_000, 0, 28_000],
  ['as much comes as must', 20_000, 2_000, 2_000, 20_000],
  ['more comes: what was lost is regained', 10_000, 2_000, 10_000, 18_000],
  ['much more comes: no more patience than at first', 29_000, 2_000, 10_000_000, 30_000],
  ['less comes for too long', 500, 2_000, 1_000, -500],
])('%s', (_what, creditMs, passedMs, bytes, left) => {
  expect(creditAfter(creditMs, { passedMs, bytes }, rate)).toBe(left)
})

/** A sender that is looked at every two seconds, and so many bytes come in that time. */
function sending() {
  vi.useFakeTimers()
  let now = 0
  let received = 0
  let state: 'sending' | 'waiting' | 'idle' = 'sending'
  const seen = { progress: 0, tooSlow: 0 }
  const minimum = new MinimumRate(() => now, { patienceMs: 30_000 })
  const stop = minimum.watch({
    received: () => received,
    state: () => state,
    progress: () => seen.progress++,
    tooSlow: () => seen.tooSlow++,
  })
  const go = (looks: number, bytes: number): typeof seen => {
    for (let i = 0; i < looks; i++) {
      now += 2_000
      received += bytes
      vi.advanceTimersByTime(2_000)
    }
    return seen
  }
  return { go, stop, becomes: (next: typeof state) => (state = next), stall: (ms: number) => (now += ms) }
}
afterEach(() => void vi.useRealTimers())

test('a client that sends a byte now and then is too slow, and is dropped once', () => {
  const { go } = sending()
  expect(go(15, 1)).toEqual({ progress: 0, tooSlow: 0 })
  expect(go(1, 1)).toEqual({ progress: 0, tooSlow: 1 })
  expect(go(20, 1).tooSlow).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('a slow line is not: 25 MB at 50 KB a second, with a pause in the middle', () => {
  const { go } = sending()
  go(125, 100_000)
  go(14, 0)
  expect(go(125, 100_000)).toEqual({ progress: 250, tooSlow: 0 })
})

test('sending a lot does not allow a longer pause later', () => {
  const { go } = sending()
  go(10, 10_000_000)
  expect(go(16, 0).tooSlow).toBe(1)
})

test('the time that the client waits for us does not count', () => {
  const { go, becomes } = sending()
  becomes('waiting')
  expect(go(100, 0)).toEqual({ progress: 100, tooSlow: 0 })
  becomes('sending')
  expect(go(15, 0).tooSlow).toBe(0)
})

test('nothing is required between two messages, and the next one starts over', () => {
  const { go, becomes } = sending()
  go(14, 0)
  becomes('idle')
  expect(go(100, 0)).toEqual({ progress: 0, tooSlow: 0 })
  becomes('sending')
  expect(go(15, 0).tooSlow).toBe(0)
})

test('the time that this process did not read does not count', () => {
  const { go, stall } = sending()
  go(10, 0)
  stall(60_000)
  expect(go(1, 0).tooSlow).toBe(0)
})

test('a connection that has ended is not checked', () => {
  const { go, stop } = sending()
  stop()
  expect(go(20, 0).tooSlow).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
})
