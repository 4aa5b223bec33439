import { aloneAs } from '../../../src/platform/store/only-node.ts'
import { expect, test, vi } from 'vitest'
import { silentLog } from '../../../src/platform/log.ts'
import { Claims } from '../../../src/platform/store/claims.ts'
import { settableClock } from '../../support/settable-clock.ts'

const minute = 60_000

/** Claims of nothing, and the names that were told to be due. */
function wakeUps() {
  const clock = settableClock()
  const told: string[] = []
  const wakes = new Map<string, number>()
  const claims = new Claims({
    db: { write: () => Promise.reject(new Error('nothing is written')) },
    clock,
    log: silentLog,
    nodes: aloneAs('node_1'),
    onFreed() {},
    table: 'recipient',
    what: 'due mail',
    fields: () => ({}),
    onDue(name) {
      told.push(name)
      // What is not due yet is asked for again, as its owner does.
      const at = wakes.get(name) ?? 0
      if (at > clock.now()) claims.wake(name, at)
    },
  })
  const wake = (name: string, at: number): void => {
    wakes.set(name, at)
    claims.wake(name, at)
  }
  return { clock, told, wake }
}

test('each name is told when it is due, at the earliest of its times', () => {
  const { clock, told, wake } = wakeUps()
  wake('b', clock.now() + 3 * minute)
  wake('a', clock.now() + 2 * minute)
  wake('b', clock.now() + minute)
  clock.advance(minute)
  expect(told).toEqual(['b'])
  clock.advance(5 * minute)
  expect(told).toEqual(['b', 'a'])
})

test('a name that is told too early, since the clock was set back, is told again at its time', () => {
  const { clock, told, wake } = wakeUps()
  wake('a', clock.now() + minute)
  clock.correct(-60 * minute)
  clock.advance(minute)
  expect(told).toEqual(['a'])
  clock.advance(60 * minute)
  expect(told).toEqual(['a', 'a'])
})

test('what is overdue, since the clock was set ahead, is told at the next wake-up, and what follows at its time', async () => {
  const { clock, told, wake } = wakeUps()
  wake('a', clock.now() + 60 * minute)
  clock.correct(24 * 60 * minute)
  wake('a', clock.now() + minute)
  await vi.waitFor(() => expect(told).toEqual(['a']))
  clock.advance(minute)
  expect(told).toEqual(['a', 'a'])
})
