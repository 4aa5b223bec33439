import { dayOf } from '../days.ts'
import { dayAndTime, dayShort, hourMinute, monthYear } from '../format.ts'

export type Granularity = 'hourly' | 'daily' | 'weekly' | 'monthly'

/** The steps of a chart; `isLong` where hours are of more than one day. */
export interface Steps {
  granularity: Granularity
  isLong: boolean
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** How far back one may look, and in what steps; the first is usual. */
export const periods: Record<string, { ms: number; granularities: readonly Granularity[] }> = {
  '24h': { ms: dayMs, granularities: ['hourly'] },
  '7d': { ms: 7 * dayMs, granularities: ['daily', 'hourly'] },
  '30d': { ms: 30 * dayMs, granularities: ['daily', 'weekly'] },
  '90d': { ms: 90 * dayMs, granularities: ['daily', 'weekly', 'monthly'] },
  '365d': { ms: 365 * dayMs, granularities: ['weekly', 'monthly'] },
}

/** The start of a period that ends now, and the zone of its days, as a part of a query. More than a day is in whole days. */
export function rangeOf(period: string, now: number): string {
  const start = new Date(now - (periods[period]?.ms ?? dayMs))
  const zone = `timezone=${encodeURIComponent(timeZone())}`
  if (period === '24h') return `start_date=${start.toISOString()}&${zone}`
  const firstDay = new Date(start.getFullYear(), start.getMonth(), start.getDate() + 1, 12)
  return `start_date=${dayOf(firstDay)}&${zone}`
}

const timeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** The periods of a report, with a label for each. */
export const periodsOf = (rows: readonly { period?: string | undefined }[], steps: Steps): { name: string; label: string }[] =>
  rows.map(({ period = '' }) => ({ name: period, label: labelOf(period, steps) }))

function labelOf(period: string, { granularity, isLong }: Steps): string {
  if (granularity === 'hourly') return isLong ? dayAndTime(period) : hourMinute(period)
  const noon = `${period}T12:00:00`
  return granularity === 'monthly' ? monthYear(noon) : dayShort(noon)
}
