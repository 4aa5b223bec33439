import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../../src/platform/log.ts'
import { startScheduler } from '../../src/platform/scheduler.ts'

const start = Date.UTC(2026, 10, 22, 6)
const [minute, day] = [60_000, 24 * 3_600_000]

beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
afterEach(() => void vi.useRealTimers())

test.each([-3 * day, 3 * day])('jobs continue after the clock was set, by %i ms', async (jump) => {
  let runs = 0
  const scheduler = startScheduler([{ name: 'job', cron: '* * * * *', run: async () => void runs++ }], silentLog)
  await vi.advanceTimersByTimeAsync(2 * minute)
  expect(runs).toBe(2)
  vi.setSystemTime(start + 2 * minute + jump)
  scheduler.clockSet()
  await vi.advanceTimersByTimeAsync(3 * minute)
  expect(runs).toBe(5)
  await scheduler.stop()
  await vi.advanceTimersByTimeAsync(3 * minute)
  expect(runs).toBe(5)
})

test('a run never overlaps the next, and a failed run does not stop the next', async () => {
  const ends: ((error?: Error) => void)[] = []
  const run = (): Promise<void> => new Promise((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve())))
  const scheduler = startScheduler([{ name: 'job', cron: '* * * * *', run }], silentLog)
  await vi.advanceTimersByTimeAsync(2 * minute)
  scheduler.clockSet()
  await vi.advanceTimersByTimeAsync(2 * minute)
  expect(ends).toHaveLength(1)
  ends[0]?.(new Error('oops'))
  await vi.advanceTimersByTimeAsync(minute)
  expect(ends).toHaveLength(2)
  await scheduler.stop()
})

test('what node-cron says of a missed run goes into the log, not to the console', async () => {
  const written = (['log', 'warn', 'error', 'info', 'debug'] as const).map((name) => vi.spyOn(console, name))
  const lines: string[] = []
  const log = { ...silentLog, warn: (_: object, message: string) => void lines.push(message) }
  const scheduler = startScheduler([{ name: 'job', cron: '* * * * *', run: async () => {} }], log)
  await vi.advanceTimersByTimeAsync(minute)
  // As on a machine that was too busy to begin in time.
  vi.setSystemTime(Date.now() + 5 * minute)
  await vi.advanceTimersByTimeAsync(2 * minute)
  await scheduler.stop()
  expect(lines).toContain('the scheduler missed a run, or put it off')
  for (const each of written) expect(each).not.toHaveBeenCalled()
})
