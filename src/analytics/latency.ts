/** A tenth of a decade each, ms (Renard numbers): none is more than 28 % above the one before. */
const steps = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800]
const longestMs = 500_000_000

/** The upper bounds of all buckets but the last, ms, excluded; stand in the migration as its number of columns. */
export const latencyBounds = [0, 1, 2, 3, 4, 5, 6]
  .flatMap((decade) => steps.map((step) => step * 10 ** decade))
  .filter((bound) => bound <= longestMs)

/** Columns of the table rollup_latency. */
export const latencyColumns = Array.from({ length: latencyBounds.length + 1 }, (_, place) => `b${String(place).padStart(2, '0')}`)

/** The place of the bucket that a time (an SQL expression, ms) belongs to, in SQL; null stays null. */
export const latencyBucket = (ms: string): string => `case when ${ms} is not null then ${bucketBetween(ms, 0, latencyBounds.length)} end`

/** By halves: each comparison leaves half of the buckets. */
function bucketBetween(ms: string, low: number, high: number): string {
  if (low === high) return String(low)
  const middle = (low + high) >> 1
  return `case when ${ms} < ${latencyBounds[middle]} then ${bucketBetween(ms, low, middle)} else ${bucketBetween(ms, middle + 1, high)} end`
}

/**
 * The time that a share of all took at most, ms: between the bounds of the bucket that it lies in as if these were spread evenly.
 * Null where there are none.
 * @param counts by bucket
 */
export function percentile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = Math.max(1, Math.ceil(total * share))
  let before = 0
  const place = counts.findIndex((count) => (before += count) >= rank)
  const count = counts[place] ?? 1
  const low = latencyBounds[place - 1] ?? 0
  const high = latencyBounds[place] ?? low
  return Math.round(low + ((high - low) * (rank - (before - count) - 0.5)) / count)
}
