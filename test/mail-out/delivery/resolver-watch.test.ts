import { expect, test } from 'vitest'
import { ResolverWatch } from '../../../src/mail-out/delivery/resolver-watch.ts'
import { Health } from '../../../src/platform/health.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { settableClock } from '../../support/settable-clock.ts'

const minute = 60_000

test('a doubt is a fault until look-ups are right again, or nobody has looked up anything for an hour', () => {
  const clock = settableClock()
  const health = new Health({ clock, log: silentLog })
  const watch = new ResolverWatch({ clock, health })
  const tell = (found: boolean): void => {
    for (let i = 0; i < 4; i++) watch.note({ name: `d${i}.test`, found, isKnown: true })
  }
  const state = () => [watch.isSuspect, ...health.faults.map(({ name }) => name)]
  tell(true)
  expect(state()).toEqual([false])
  tell(false)
  expect(state()).toEqual([true, 'resolver_suspect'])
  tell(true)
  expect(state()).toEqual([false])
  tell(false)
  clock.advance(59 * minute)
  expect(state()).toEqual([true, 'resolver_suspect'])
  // The time of day says nothing of how long that was.
  clock.correct(-240 * minute)
  clock.advance(2 * minute)
  clock.correct(240 * minute)
  clock.advance(minute)
  expect(state()).toEqual([false])
})
