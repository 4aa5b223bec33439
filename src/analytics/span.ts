import { dayMs, hourMs } from './period.ts'

/** ms; no time zone is off by a part of it */
export const quarterMs = 900_000

/** The lengths of time that are counted by, ms; each is a whole number of the one before it. */
export const spans = [quarterMs, hourMs, dayMs] as const

/** The beginning of the quarter of an hour, hour or day (UTC) that a moment lies in; epoch, ms. */
export const startOf = (at: number, span: number): number => Math.floor(at / span) * span

/** A stretch of time to be read from the counts of one span; `to` is excluded. */
export interface Stretch {
  span: number
  from: number
  to: number
}

/**
 * Divides a time, whose ends lie on quarters of an hour, into stretches of the longest spans that fit.
 * @param fits whether a span may be used: it must lie within what is told apart
 */
export function stretchesOf(from: number, to: number, fits: (span: number) => boolean): Stretch[] {
  const usable = spans.filter(fits)
  const divide = (start: number, end: number, place: number): Stretch[] => {
    const span = usable[place]
    if (span === undefined || start >= end) return []
    const [first, last] = [Math.ceil(start / span) * span, startOf(end, span)]
    if (first >= last) return divide(start, end, place - 1)
    return [...divide(start, first, place - 1), { span, from: first, to: last }, ...divide(last, end, place - 1)]
  }
  return divide(from, to, usable.length - 1)
}
