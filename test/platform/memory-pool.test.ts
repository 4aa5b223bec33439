import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { MemoryPool, type Loan } from '../../src/platform/memory-pool.ts'
import { cases } from '../support/cases.ts'

const mebibyte = 1024 * 1024

/** What becomes of messages: one comes, the nth ends and is given back, or the thread that has it dies. */
const lives = fc.array(
  fc.oneof(
    fc.record({ comes: fc.integer({ min: 16_385, max: 70_000 }) }),
    fc.record({ ends: fc.nat() }),
    fc.record({ dies: fc.nat() }),
    fc.record({ endsTwice: fc.nat() }),
  ),
  { maxLength: 120 },
)

test('no message is ever written over one that is still read, in whatever order they end', () => {
  fc.assert(
    fc.property(lives, (sequence) => {
      const pool = new MemoryPool()
      let last = 0
      const read: { loan: Loan; canary: number }[] = []
      const leftToDeadThreads: typeof read = []
      for (const step of sequence) {
        if ('comes' in step) {
          const loan = pool.lend(step.comes)
          if (!loan) throw new Error('memory is lent for every size between')
          expect(loan.bytes).toHaveLength(step.comes)
          const canary = ++last % 256
          loan.bytes.fill(canary)
          read.push({ loan, canary })
        } else {
          const [place = 0] = Object.values(step)
          const [found] = read.splice(place % Math.max(read.length, 1), 1)
          if (!found) continue
          if ('dies' in step) leftToDeadThreads.push(found)
          else found.loan.giveBack()
          if ('endsTwice' in step) expect(() => found.loan.giveBack()).toThrow('memory was given back twice')
        }
        for (const { loan, canary } of [...read, ...leftToDeadThreads]) expect(loan.bytes.every((byte) => byte === canary)).toBe(true)
      }
    }),
    { numRuns: cases(100) },
  )
})

test('memory that was given back is lent again, for a message of another length as well', () => {
  const pool = new MemoryPool()
  const first = pool.lend(50_000)
  first?.giveBack()
  expect(pool.freeBytes).toBe(65_536)
  const second = pool.lend(40_000)
  expect(second?.bytes.buffer).toBe(first?.bytes.buffer)
  expect(second?.bytes).toHaveLength(40_000)
  expect(pool.freeBytes).toBe(0)
})

test('eight megabytes are kept at most, and neither small pieces nor any larger than a chunk', () => {
  const pool = new MemoryPool()
  expect([0, 16 * 1024, 256 * 1024 + 1].map((size) => pool.lend(size))).toEqual([null, null, null])
  for (const loan of Array.from({ length: 100 }, () => pool.lend(200_000))) loan?.giveBack()
  expect(pool.freeBytes).toBe(8 * mebibyte)
})

test('what nobody needs for a while is dropped, and what is in use stays', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const pool = new MemoryPool()
  const lend = (count: number) => Array.from({ length: count }, () => pool.lend(50_000))
  const use = (count: number) => lend(count).forEach((loan) => loan?.giveBack())
  use(20)
  vi.advanceTimersByTime(10_000)
  expect(pool.freeBytes).toBe(20 * 65_536)
  use(5)
  vi.advanceTimersByTime(10_000)
  expect(pool.freeBytes).toBe(5 * 65_536)
  vi.advanceTimersByTime(10_000)
  expect([pool.freeBytes, vi.getTimerCount()]).toEqual([0, 0])
})
