import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../src/platform/log.ts'
import { aloneWithLimits } from '../../../src/platform/store/local-windows.ts'
import { saveWindow, timesOf } from '../../../src/platform/store/rate-window-rows.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const windowMs = 60_000

async function fixture() {
  const [db, clock] = [await testDatabase(), settableClock()]
  const start = async () => {
    const windows = aloneWithLimits({ db, clock }).windows('requests', { windowMs, isKept: true })
    await windows.start(silentLog)
    onTestFinished(() => windows.stop())
    return windows
  }
  const rows = async () => (await db.read<{ account_id: string }>('select account_id from rate_window')).map(({ account_id: id }) => id)
  return { db, clock, start, rows }
}

test('a restart changes nothing, however the time of day is set meanwhile; the idle leave nothing behind', async () => {
  const { clock, start, rows } = await fixture()
  const first = await start()
  for (const pause of [100, 900, 19_000]) {
    clock.advance(pause)
    expect(first.of('acc_1').take(3)).toBe(true)
  }
  await first.stop()
  expect(await rows()).toEqual(['acc_1'])
  clock.advance(39_000)
  const second = (await start()).of('acc_1')
  expect([second.take(3), Math.ceil(second.untilNext(3) / 1000)]).toEqual([false, 2])
  clock.correct(3_600_000)
  expect([second.take(3), Math.ceil(second.untilNext(3) / 1000)]).toEqual([false, 2])
  clock.advance(1_200)
  expect([second.take(3), second.take(3)]).toEqual([true, false])
})

test('times of before the clock was set back count as now', async () => {
  const { clock, start, rows } = await fixture()
  const first = await start()
  expect(first.of('acc_1').take(1)).toBe(true)
  await first.stop()
  clock.correct(-7_200_000)
  const second = await start()
  expect([second.of('acc_1').take(1), second.of('acc_1').untilNext(1)]).toEqual([false, windowMs])
  clock.advance(windowMs)
  await second.stop()
  expect(await rows()).toEqual([])
  expect(second.of('acc_1').take(1)).toBe(true)
})

test('what is not kept leaves nothing behind, and a flood of keys evicts unused ones, and no others', async () => {
  const { db, clock, rows } = await fixture()
  const windows = aloneWithLimits({ db, clock }).windows('requests', { windowMs, isKept: false })
  await windows.start(silentLog)
  for (const key of ['idle', 'busy']) expect(windows.of(key).take(1)).toBe(true)
  for (let i = 0; i < 10_000; i++) {
    expect(windows.of(`other ${i}`).take(1)).toBe(true)
    expect(windows.of('busy').take(1)).toBe(false)
  }
  expect(windows.of('idle').take(1)).toBe(true)
  await windows.stop()
  expect(await rows()).toEqual([])
})

test('a row holds any times', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 120_000 }), { minLength: 1 }), (gaps) => {
      let at = Date.UTC(2026, 10, 21)
      const times = gaps.map((gap) => (at += gap))
      const { firstAt, gaps: encoded } = saveWindow('acc_1', Float64Array.from(times)).params ?? {}
      expect(timesOf({ first_at: firstAt as number, gaps: encoded as Uint8Array })).toEqual(times)
    }),
  )
})
