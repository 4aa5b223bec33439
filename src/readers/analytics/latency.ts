/** Ten steps per decade, ms (Renard numbers): each is at most 28 % above the one before. */
const steps = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800]
const maxMs = 500_000_000

/** The exclusive upper bounds of all buckets but the last, ms. Their number is fixed in the migration. */
export const latencyBounds = [0, 1, 2, 3, 4, 5, 6]
  .flatMap((decade) => steps.map((step) => step * 10 ** decade))
  .filter((bound) => bound <= maxMs)

/** The columns of the table `rollup_latency`. */
export const latencyColumns = Array.from({ length: latencyBounds.length + 1 }, (_, place) => `b${String(place).padStart(2, '0')}`)

/** SQL for the bucket index of a duration (an SQL expression, ms); null stays null. */
export const latencyBucket = (ms: string): string => `case when ${ms} is not null then ${bucketBetween(ms, 0, latencyBounds.length)} end`

/** A binary search in SQL. */
function bucketBetween(ms: string, low: number, high: number): string {
  if (low === high) return String(low)
  const middle = (low + high) >> 1
  return `case when ${ms} < ${latencyBounds[middle]} then ${bucketBetween(ms, low, middle)} else ${bucketBetween(ms, middle + 1, high)} end`
}

/**
 * The duration within which a share of all deliveries was made, ms. Interpolates linearly within a bucket. Null if there were none.
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
