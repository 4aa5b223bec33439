import { expect, test } from 'vitest'
import { HostHealth } from '../../../src/mail-out/delivery/host-health.ts'

const host = '192.0.2.1 25'
const minute = 60_000

/** Fails at these times, each at once. */
function failAt(health: HostHealth, ...times: number[]): void {
  for (const now of times) health.noteFailed(host, `failed at ${now}`, { startedAt: now, now })
}

const restMs = (health: HostHealth, now: number): number | undefined => health.backoffOf(host, now)?.forMs

test('a host rests after four failures in a row, and longer with each probe that fails, up to 15 minutes', () => {
  const health = new HostHealth(() => 0)
  failAt(health, 1, 2, 3)
  expect(health.backoffOf(host, 3)).toBeUndefined()
  failAt(health, 4)
  expect(health.backoffOf(host, 4)).toEqual({ key: host, forMs: 5_000, reason: 'failed at 4' })
  const rests: (number | undefined)[] = []
  for (let now = 10_000; rests.length < 9; now += 1_000_000) {
    failAt(health, now)
    rests.push(restMs(health, now))
  }
  expect(rests).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000, 900_000, 900_000])
})

test('rests are stretched at random by up to a fifth', () => {
  const health = new HostHealth(() => 1)
  failAt(health, 1, 2, 3, 4)
  expect(restMs(health, 4)).toBe(6_000)
  expect(restMs(health, 5_004)).toBe(1_000)
  expect(restMs(health, 60_000)).toBe(0)
})

test('one that has answered within a minute is down only after twenty failures in a row', () => {
  const health = new HostHealth(() => 0)
  health.noteAnswered(host, 0)
  failAt(health, ...Array.from({ length: 19 }, (_, i) => i + 1))
  expect(restMs(health, 30)).toBeUndefined()
  failAt(health, 31)
  expect(restMs(health, 31)).toBe(5_000)
  const later = new HostHealth(() => 0)
  later.noteAnswered(host, 0)
  failAt(later, minute, minute + 1, minute + 2, minute + 3)
  expect(restMs(later, minute + 3)).toBe(5_000)
})

test('what was under way when it was found to be down does not count', () => {
  const health = new HostHealth(() => 0)
  failAt(health, 1, 2, 3, 4)
  health.noteFailed(host, 'late', { startedAt: 3, now: 30 })
  expect(health.backoffOf(host, 30)).toEqual({ key: host, forMs: 4_974, reason: 'failed at 4' })
})

test('one that answers is up at once, and begins anew', () => {
  const health = new HostHealth(() => 0)
  expect(health.hasAnswered(host)).toBe(false)
  failAt(health, 1, 2, 3, 4, 10_000)
  health.noteAnswered(host, 20_000)
  expect([restMs(health, 20_000), health.hasAnswered(host)]).toEqual([undefined, true])
  failAt(health, 90_000, 90_001, 90_002, 90_003)
  expect(restMs(health, 90_003)).toBe(5_000)
})
