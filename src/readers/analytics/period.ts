import { isoTime } from '../../platform/iso-time.ts'
import type { Segment, TimeZone } from './local-time.ts'

export const granularities = ['hourly', 'daily', 'weekly', 'monthly'] as const
export type Granularity = (typeof granularities)[number]

export const hourMs = 3_600_000
export const dayMs = 86_400_000

const isoDate = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

/** The name of the period that contains a local day (days since 1970-01-01): its first day. */
export function periodOfDay(day: number, granularity: Exclude<Granularity, 'hourly'>): string {
  switch (granularity) {
    case 'daily':
      return isoDate(day)
    case 'weekly':
      // 1970-01-01 was a Thursday, and weeks begin on Monday (ISO 8601).
      return isoDate(day - ((((day + 3) % 7) + 7) % 7))
    case 'monthly':
      return `${isoDate(day).slice(0, 7)}-01`
  }
}

/** The name of a local hour, with its offset, because in autumn an hour occurs twice. */
export const periodOfHour = (localHour: number, { offset }: Segment): string => isoTime(localHour * hourMs - offset)

/** An upper bound on the number of periods between two times, without generating them. */
export function maxPeriods(from: number, to: number, granularity: Granularity): number {
  const length = { hourly: hourMs, daily: dayMs, weekly: 7 * dayMs, monthly: 28 * dayMs }[granularity]
  return Math.ceil((to - from) / length)
}

/** The names of all periods between two times, in order; `to` excluded. */
export function periodsBetween(from: number, to: number, granularity: Granularity, zone: TimeZone): string[] {
  if (granularity === 'hourly') {
    return zone.segments(from, to).flatMap((segment) => {
      const first = Math.floor((segment.from + segment.offset) / hourMs)
      const end = Math.ceil((segment.to + segment.offset) / hourMs)
      return Array.from({ length: end - first }, (_, i) => periodOfHour(first + i, segment))
    })
  }
  const first = Math.floor((from + zone.offsetAt(from)) / dayMs)
  const last = Math.floor((to - 1 + zone.offsetAt(to - 1)) / dayMs)
  const days = Array.from({ length: last - first + 1 }, (_, i) => periodOfDay(first + i, granularity))
  return [...new Set(days)]
}
