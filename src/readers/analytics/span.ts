import { dayMs, hourMs } from './period.ts'

/** ms; every time zone's offset is a multiple */
export const quarterMs = 900_000

/** The lengths of time that are counted, ms. Each is a multiple of the one before. */
export const spans = [quarterMs, hourMs, dayMs] as const

/** The start of the quarter of an hour, hour or day (UTC) that contains a time; epoch, ms. */
export const startOf = (at: number, span: number): number => Math.floor(at / span) * span

/** A period to read from the counts of one span; `to` excluded. */
export interface Stretch {
  span: number
  from: number
  to: number
}

/**
 * Divides a period, which starts and ends on a quarter of an hour, into stretches of the longest spans that fit.
 * @param fits whether a span may be used: it must not cross a boundary of the units
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
