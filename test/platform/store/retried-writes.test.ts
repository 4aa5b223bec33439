import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLog } from '../../../src/platform/log.ts'
import { BusyError, ConflictError, DamagedError, StorageFullError, type Statement } from '../../../src/platform/store/database.ts'
import { RetriedWrites } from '../../../src/platform/store/retried-writes.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** Every write fails by the error, while there is one; by damage, if it has the statement that meets it. */
function start() {
  const lines: { level: string }[] = []
  const state = { error: null as Error | null, tries: 0, lines, batches: [] as Statement[][] }
  const write = async (batch: Statement[]) => {
    state.tries++
    state.batches.push(batch)
    const { error } = state
    if (error && !(error instanceof DamagedError && error.statement >= batch.length)) throw error
    return [{ rows: [], changes: 1 }]
  }
  return { state, writes: new RetriedWrites({ db: { write }, log: createLog('info', (line) => lines.push(JSON.parse(line))) }) }
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

test('what a damaged page keeps from being written is given up after a while, and the rest is written', async () => {
  const { state, writes } = start()
  const batch = ['state', 'event'].map((sql) => ({ sql }))
  state.error = new DamagedError('unreadable', { tables: ['event'], keepsOut: true, statement: 1 })
  const written = writes.write(batch)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(state.batches.every((each) => each.length === 2)).toBe(true)
  await vi.advanceTimersByTimeAsync(10_000)
  await written
  expect(state.batches.at(-1)).toEqual([{ sql: 'state' }])
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
