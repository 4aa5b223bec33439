import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TimeZone } from '../../../src/readers/analytics/local-time.ts'
import { periodsBetween } from '../../../src/readers/analytics/period.ts'
import { cases } from '../../support/cases.ts'

const hour = 3_600_000
const quarter = hour / 4
const at = (text: string): number => Date.parse(text)
const zones = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Pacific/Chatham']

test('segments adjoin, and each has one UTC offset', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({ min: 200_000, max: 1_000_000 }),
      fc.integer({ min: 1, max: 40_000 }),
      (zone, first, length) => {
        const timeZone = new TimeZone(zone)
        const [from, to] = [at('2020-01-01') + first * quarter, at('2020-01-01') + (first + length) * quarter]
        const segments = timeZone.segments(from, to)
        expect(segments[0]?.from).toBe(from)
        expect(segments.at(-1)?.to).toBe(to)
        for (const [place, segment] of segments.entries()) {
          if (place > 0) expect(segments[place - 1]?.to).toBe(segment.from)
          for (const moment of [segment.from, segment.to - 1, (segment.from + segment.to) / 2]) {
            expect(timeZone.offsetAt(moment)).toBe(segment.offset)
          }
        }
      },
    ),
    { numRuns: cases(200) },
  )
})

test.each([
  ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00Z'],
  ['Europe/Berlin', '2026-03-30', '2026-03-29T22:00:00Z'],
  ['Europe/Berlin', '2026-10-26', '2026-10-25T23:00:00Z'],
  ['America/New_York', '2026-11-01', '2026-11-01T04:00:00Z'],
  ['Asia/Kolkata', '2026-11-21', '2026-11-20T18:30:00Z'],
  ['UTC', '2026-11-21', '2026-11-21T00:00:00Z'],
])('in %s the day %s begins at %s', (zone, day, moment) => {
  expect(new TimeZone(zone).atLocal(at(day))).toBe(at(moment))
})

test('refuses unknown zones', () => {
  for (const name of ['Mars/Olympus', '', 'UTC+25']) expect(() => new TimeZone(name)).toThrow(RangeError)
})

test('the day on which clocks go back has twenty-five hours', () => {
  const zone = new TimeZone('Europe/Berlin')
  const hours = periodsBetween(zone.atLocal(at('2026-10-25')), zone.atLocal(at('2026-10-26')), 'hourly', zone)
  expect(hours).toHaveLength(25)
  expect(new Set(hours).size).toBe(25)
})

test('weeks begin on Monday', () => {
  const zone = new TimeZone('UTC')
  expect(periodsBetween(at('2026-11-15'), at('2026-11-24'), 'weekly', zone)).toEqual(['2026-11-09', '2026-11-16', '2026-11-23'])
  expect(periodsBetween(at('2026-11-30'), at('2026-12-02'), 'monthly', zone)).toEqual(['2026-11-01', '2026-12-01'])
  expect(periodsBetween(at('2026-11-30T12:00:00Z'), at('2026-12-02'), 'daily', zone)).toEqual(['2026-11-30', '2026-12-01'])
})
