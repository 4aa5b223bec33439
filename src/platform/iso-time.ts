const form = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** Parses an ISO 8601 time with its offset, or a date (UTC), to epoch ms. Null for anything else, even where `Date` would guess. */
export function parseIsoTime(text: string): number | null {
  const [, year, month, day] = form.exec(text) ?? []
  // `Date` reads 30 February as 2 March.
  if (Number(day) > new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()) return null
  const at = day === undefined ? NaN : Date.parse(text)
  return Number.isNaN(at) ? null : at
}

/** A time (epoch, ms) as in responses and events: ISO 8601, UTC, to the ms. */
export const isoTime = (at: number): string => new Date(at).toISOString()

export const isoTimeOrNull = (at: number | null): string | null => (at === null ? null : isoTime(at))
