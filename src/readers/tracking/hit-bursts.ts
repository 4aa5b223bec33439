import { evidence, type Evidence } from './evidence.ts'
import { isClick } from './hit.ts'
import type { SourcedHit } from './hit-source.ts'
import { variousWithin } from './hit-window.ts'
import { readerRules } from './reader-rules.ts'

const shortMs = 4000

/**
 * Clicks on different links that come faster than by hand, because a machine follows them all, and more clicks in a short time than a
 * person makes. Clicks by one agent or network belong together; the rest is judged as a whole, to find machines that change both.
 * @param hits in order of time
 */
export function findBursts(hits: readonly SourcedHit[], links: number): Map<SourcedHit, Evidence[]> {
  const clicks = hits.filter(({ hit, isPrefetch }) => isClick(hit) && !isPrefetch)
  const found = new Map<SourcedHit, Evidence[]>()
  const mark = (marked: Iterable<SourcedHit>, sign: Evidence): void => {
    for (const click of marked) if (!found.has(click)) found.set(click, [sign])
  }
  const burst = evidence('burst', 'burst')
  for (const group of grouped(clicks, ({ agent }) => agent)) {
    mark(sweeps(group, links, Infinity), burst)
    mark(floods(group), evidence('burst', 'flood'))
  }
  // Others share a network, so only a short time points to one machine.
  for (const group of grouped(clicks, ({ network }) => network)) mark(sweeps(group, links, shortMs), burst)
  mark(
    sweeps(
      clicks.filter((click) => !found.has(click)),
      links,
      shortMs,
    ),
    burst,
  )
  const { pair_within_ms: pairWithin, walk } = readerRules().bursts
  for (const group of grouped(clicks, ({ agent, network }) => `${agent} ${network}`)) {
    mark(within(group, { links: 2, ms: pairWithin }), evidence('burst', 'pair'))
    // Somebody who follows all links, at any pace.
    if (links >= walk.at_least) mark(within(group, { links, ms: walk.within_ms }), evidence('burst', 'walk'))
  }
  return found
}

function* sweeps(clicks: readonly SourcedHit[], links: number, maxMs: number): Generator<SourcedHit> {
  const { some, all } = readerRules().bursts
  const windows = [
    ...some.map((rule) => ({ links: rule.links, ms: rule.within_ms })),
    ...all.filter((rule) => links >= rule.at_least).map((rule) => ({ links, ms: rule.ms_a_link * (links - 1) })),
  ]
  for (const window of windows) if (window.ms <= maxMs) yield* within(clicks, window)
}

/** Clicks on any links, also on a single one, that are too many for a person. */
function floods(clicks: readonly SourcedHit[]): Iterable<SourcedHit> {
  const { clicks: atLeast, within_ms: ms } = readerRules().bursts.flood
  const numbers = new Map(clicks.map((click, number) => [click, String(number)]))
  return variousWithin(clicks, ms, [{ of: (click) => numbers.get(click) ?? '', atLeast }])
}

/** The clicks within a period in which this many different links are clicked. */
const within = (clicks: readonly SourcedHit[], { links, ms }: { links: number; ms: number }): Iterable<SourcedHit> =>
  variousWithin(clicks, ms, [{ of: ({ hit }) => hit.what, atLeast: links }])

/** By a key that says something. */
const grouped = (hits: readonly SourcedHit[], keyOf: (hit: SourcedHit) => string | null): Iterable<SourcedHit[]> =>
  Map.groupBy(hits.filter(keyOf), keyOf).values()
