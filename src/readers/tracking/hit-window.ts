import type { SourcedHit } from './hit-source.ts'

/** This many different values of one property. */
interface Variety {
  of: (hit: SourcedHit) => string
  atLeast: number
}

/**
 * The hits within some period in which they vary as much as required.
 * @param hits in order of time
 * @param within ms from the first to the last hit of the period
 */
export function* variousWithin(hits: readonly SourcedHit[], within: number, varieties: readonly Variety[]): Generator<SourcedHit> {
  const tallies = varieties.map((variety) => ({ ...variety, counts: new Map<string, number>() }))
  const count = (hit: SourcedHit, by: 1 | -1): void => {
    for (const { of, counts } of tallies) {
      const left = (counts.get(of(hit)) ?? 0) + by
      if (left > 0) counts.set(of(hit), left)
      else counts.delete(of(hit))
    }
  }
  let first = 0
  let told = 0
  for (const [last, hit] of hits.entries()) {
    count(hit, 1)
    for (let oldest = hits[first]; oldest && hit.at - oldest.at > within; oldest = hits[++first]) count(oldest, -1)
    if (tallies.some(({ counts, atLeast }) => counts.size < atLeast)) continue
    yield* hits.slice(Math.max(first, told), last + 1)
    told = last + 1
  }
}
