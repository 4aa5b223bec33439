import { expect, test } from 'vitest'
import { newStem, parseStem } from '../../../src/upkeep/backup/backup-name.ts'
import { backupsToRemove } from '../../../src/upkeep/backup/kept-backups.ts'

const hourMs = 3_600_000
const begin = Date.parse('2026-01-01T03:00:00Z')
const backups = (count: number, everyMs: number) =>
  Array.from({ length: count }, (_, i) => ({ stem: String(i), at: begin + i * everyMs, origin: '00000000' }))
const keep = { last: 0, daily: 0, weekly: 0, monthly: 0 }
const kept = (given: ReturnType<typeof backups>, wanted: Partial<typeof keep>): number[] => {
  const removed = new Set(backupsToRemove(given, { ...keep, ...wanted }))
  return given.filter((backup) => !removed.has(backup)).map(({ stem }) => Number(stem))
}

test('the newest is kept whatever the settings say', () => {
  expect(kept(backups(5, hourMs), {})).toEqual([4])
  expect(kept(backups(1, hourMs), {})).toEqual([0])
  expect(kept([], {})).toEqual([])
})

test('the last ones are kept, and the newest of each day, week and month', () => {
  expect(kept(backups(10, hourMs), { last: 3 })).toEqual([7, 8, 9])
  // Four a day: 3, 9, 15 and 21 o'clock.
  expect(kept(backups(16, 6 * hourMs), { daily: 3 })).toEqual([7, 11, 15])
  // 1 January 2026 is a Thursday, so the 4th and the 11th are Sundays.
  expect(kept(backups(14, 24 * hourMs), { weekly: 3 })).toEqual([3, 10, 13])
  expect(kept(backups(70, 24 * hourMs), { monthly: 2, last: 2 })).toEqual([58, 68, 69])
})

test('days without a backup do not count', () => {
  expect(kept(backups(4, 72 * hourMs), { daily: 3 })).toEqual([1, 2, 3])
})

test('a name says when a backup was begun and by whom; other names are nobody’s', () => {
  const stem = newStem(begin, '0a1b2c3d')
  expect(stem).toBe('sterna-20260101T030000000Z-0a1b2c3d')
  expect(parseStem(stem)).toEqual({ stem, at: begin, origin: '0a1b2c3d' })
  expect(['sterna', 'sterna-20269901T030000000Z-0a1b2c3d', `${stem}x`, `x${stem}`].map(parseStem)).toEqual([null, null, null, null])
})
