const day = /^(\d{4})-(\d{2})-(\d{2})$/
const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** The day of the reader that a time is in: `2026-11-27`. */
export const dayOf = (at: Date): string => `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`

/** What a field for a time takes, in the zone of the reader: `2026-11-27T14:02`. */
export const minuteOf = (at: Date): string => `${dayOf(at)}T${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`

/** What a reader of today needs to see of a time: the time of day, the day too, or the date with its year. */
export function neededOf(at: Date, today: Date): 'time' | 'day' | 'date' {
  if (at.toDateString() === today.toDateString()) return 'time'
  return at.getFullYear() === today.getFullYear() ? 'day' : 'date'
}

/** Whether a date field can show it; nothing it can show too. */
export const isDay = (text: string | null): boolean => text === null || day.test(text)

/** When a day of the reader begins, for the API; what is no day stays as it is. */
export const beginningOf = (text: string): string => midnight(text, 0)

/** When it is over. */
export const endOf = (text: string): string => midnight(text, 1)

function midnight(text: string, days: number): string {
  const [, year, month, date] = day.exec(text) ?? []
  if (year === undefined) return text
  const at = new Date(Number(year), Number(month) - 1, Number(date) + days)
  return Number.isNaN(at.getTime()) ? text : at.toISOString()
}

/** What a list is asked for by the filters in the page's address: `since` and `until` are days of the reader, the last one included. */
export function askedBy(query: URLSearchParams, names: readonly string[], limit: number): URLSearchParams {
  const asked = new URLSearchParams({ limit: String(limit) })
  for (const name of [...names, 'after']) {
    const value = query.get(name)?.trim()
    if (!value) continue
    asked.set(name, name === 'since' ? beginningOf(value) : name === 'until' ? endOf(value) : value)
  }
  return asked
}
