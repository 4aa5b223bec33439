import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLog } from '../../src/log.ts'
import { BusyError, ConflictError, StorageFullError } from '../../src/store/database.ts'
import { LastingWrites } from '../../src/store/lasting-writes.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** Every write fails by the error, while there is one. */
function start() {
  const lines: { level: string }[] = []
  const state = { error: null as Error | null, tries: 0, lines }
  const write = async () => {
    state.tries++
    if (state.error) throw state.error
    return [{ rows: [], changes: 1 }]
  }
  return { state, writes: new LastingWrites({ db: { write }, log: createLog('info', (line) => lines.push(JSON.parse(line))) }) }
}

test.each([new BusyError(), new StorageFullError(), new Error('nobody knows')])('%s is waited out, and told once', async (error) => {
  const { state, writes } = start()
  state.error = error
  const written = Promise.all(Array.from({ length: 10 }, () => writes.write([])))
  await vi.advanceTimersByTimeAsync(60_000)
  // The waits grow, but not for ever.
  expect(state.tries).toBeGreaterThan(10 * 15)
  expect(state.tries).toBeLessThan(10 * 25)
  state.error = null
  await vi.advanceTimersByTimeAsync(4_000)
  expect(await written).toHaveLength(10)
  expect(state.lines.map(({ level }) => level)).toEqual(['error', 'info'])
})

test('a conflict ends it', async () => {
  const { state, writes } = start()
  state.error = new ConflictError()
  await expect(writes.write([])).rejects.toThrow(ConflictError)
  expect(state).toMatchObject({ tries: 1, lines: [] })
})

test('a stop has what waits tried once more', async () => {
  const { state, writes } = start()
  state.error = new BusyError()
  const waiting = writes.write([])
  await vi.advanceTimersByTimeAsync(0)
  writes.stop()
  expect(await waiting).toBeNull()
  expect(state.tries).toBe(2)
  expect(await writes.write([])).toBeNull()
  expect(state.tries).toBe(3)
})
