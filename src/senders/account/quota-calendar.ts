/** What mail is counted by. */
export const periods = ['day', 'month'] as const
export type Period = (typeof periods)[number]

const dayMs = 86_400_000

/** The day and the month of a time (epoch, ms) in UTC: their numbers since 1970, and when they end (epoch, ms). */
export function calendarOf(at: number): Record<Period, { number: number; endsAt: number }> {
  const day = Math.floor(at / dayMs)
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return {
    day: { number: day, endsAt: (day + 1) * dayMs },
    month: { number: (year - 1970) * 12 + month, endsAt: Date.UTC(year, month + 1, 1) },
  }
}
