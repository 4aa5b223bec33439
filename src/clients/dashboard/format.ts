import { neededOf } from './days.ts'
import { language, t } from './texts/texts.ts'

const locale = (): string | undefined => (navigator.language.startsWith(language()) ? navigator.language : language())
const made = new Map<string, Intl.DateTimeFormat>()

function format(time: string | number, options: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify(options)
  const formatter = made.get(key) ?? new Intl.DateTimeFormat(locale(), options)
  made.set(key, formatter)
  return formatter.format(new Date(time))
}

/** `14:02:11` */
export const clockTime = (time: string | number): string => format(time, { timeStyle: 'medium' })
/** `22 November 2026, 14:02:11` */
export const fullTime = (time: string | number): string => format(time, { dateStyle: 'long', timeStyle: 'medium' })
/** `22 Nov` */
export const dayShort = (time: string | number): string => format(time, { day: 'numeric', month: 'short' })
/** `November 2026` */
export const monthYear = (time: string | number): string => format(time, { month: 'long', year: 'numeric' })
/** `22 Nov 2026` */
export const shortDate = (time: string | number): string => format(time, { dateStyle: 'medium' })
/** `22 Nov, 14:02` */
export const dayAndTime = (time: string | number): string =>
  format(time, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })
export const hourMinute = (time: string | number): string => format(time, { hour: '2-digit', minute: '2-digit' })

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** How long ago in a cell: `now`, `4 s`, `12 min`, the time itself after an hour, and the date of another year. */
export function age(time: string, now = Date.now()): string {
  const ms = now - Date.parse(time)
  if (ms < 2 * secondMs) return t.time.now
  if (ms < minuteMs) return t.time.seconds(Math.floor(ms / secondMs))
  if (ms < hourMs) return t.time.minutes(Math.floor(ms / minuteMs))
  return { time: hourMinute, day: dayAndTime, date: shortDate }[neededOf(new Date(time), new Date(now))](time)
}

/** The same in a sentence: `4 s ago`. */
export function ago(time: string, now = Date.now()): string {
  const ms = now - Date.parse(time)
  if (ms < 2 * secondMs) return t.time.justNow
  return ms < hourMs ? t.time.ago(age(time, now)) : age(time, now)
}

/** `1.2 s`, `340 ms`, `3 min`, `2 h` */
export function duration(ms: number): string {
  if (ms < secondMs) return `${Math.round(ms)} ms`
  if (ms < minuteMs) return t.time.seconds(number(ms / secondMs, ms < 10 * secondMs ? 1 : 0))
  if (ms < hourMs) return t.time.minutes(number(ms / minuteMs, ms < 10 * minuteMs ? 1 : 0))
  return t.time.hours(number(ms / hourMs, 1))
}

export const number = (value: number, digits = 0): string =>
  new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value)

/** `98.9 %`; `share` is between 0 and 1. Small shares keep two digits. */
export const percent = (share: number): string => `${number(share * 100, share === 0 || share > 0.995 ? 1 : share < 0.01 ? 2 : 1)} %`

export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`
  return count < 1_000_000 ? `${number(count / 1_000)} KB` : `${number(count / 1_000_000, 1)} MB`
}
