const form = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** Epoch ms of an ISO 8601 time with its offset, or of a date (UTC); null for anything else, wherever `Date` would guess. */
export function parseIsoTime(text: string): number | null {
  const [, year, month, day] = form.exec(text) ?? []
  // `Date` takes a 30 February for 2 March.
  if (Number(day) > new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()) return null
  const at = day === undefined ? NaN : Date.parse(text)
  return Number.isNaN(at) ? null : at
}

/** A time (epoch, ms) as answers and events have it: ISO 8601, UTC, to the ms. */
export const isoTime = (at: number): string => new Date(at).toISOString()

export const isoTimeOrNull = (at: number | null): string | null => (at === null ? null : isoTime(at))
