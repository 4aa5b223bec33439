import { evidence } from './evidence.ts'
import type { Evidence } from './evidence.ts'
import { isClick } from './hit.ts'
import type { SourcedHit } from './hit-source.ts'
import { readerRules } from './reader-rules.ts'

/**
 * Clicks that come quicker than a hand, on different links: a machine follows them all. Those of one agent or one network belong
 * together; what is left is looked at as a whole, for machines that change both.
 * @param hits in the order of time
 */
export function findBursts(hits: readonly SourcedHit[], links: number): Map<SourcedHit, Evidence[]> {
  const clicks = hits.filter(({ hit, isPrefetch }) => isClick(hit) && !isPrefetch)
  const found = new Map<SourcedHit, Evidence[]>()
  const mark = (marked: Iterable<SourcedHit>, sign: Evidence): void => {
    for (const click of marked) if (!found.has(click)) found.set(click, [sign])
  }
  for (const group of [...grouped(clicks, ({ agent }) => agent), ...grouped(clicks, ({ network }) => network)]) {
    mark(sweeps(group, links), evidence('burst', 'burst'))
  }
  mark(sweeps(clicks.filter((click) => !found.has(click)), links), evidence('burst', 'burst'))
  const { pair_within_ms: pairWithin, walk } = readerRules().bursts
  for (const group of grouped(clicks, ({ agent, network }) => `${agent} ${network}`)) {
    mark(within(group, { links: 2, within: pairWithin }), evidence('burst', 'pair'))
    // One who goes through all links, at whatever pace.
    if (links >= walk.at_least) mark(within(group, { links, within: walk.within_ms }), evidence('burst', 'walk'))
  }
  return found
}

function* sweeps(clicks: readonly SourcedHit[], links: number): Generator<SourcedHit> {
  const { some, all } = readerRules().bursts
  for (const rule of some) yield* within(clicks, { links: rule.links, within: rule.within_ms })
  for (const rule of all) if (links >= rule.at_least) yield* within(clicks, { links, within: rule.ms_a_link * (links - 1) })
}

/** The clicks that lie in a window of time in which so many different links are clicked. */
function* within(clicks: readonly SourcedHit[], window: { links: number; within: number }): Generator<SourcedHit> {
  const counts = new Map<string, number>()
  let first = 0
  let told = 0
  for (const [last, click] of clicks.entries()) {
    counts.set(click.hit.what, (counts.get(click.hit.what) ?? 0) + 1)
    for (let oldest = clicks[first]; oldest && click.at - oldest.at > window.within; oldest = clicks[++first]) {
      const left = (counts.get(oldest.hit.what) ?? 0) - 1
      if (left > 0) counts.set(oldest.hit.what, left)
      else counts.delete(oldest.hit.what)
    }
    if (counts.size < window.links) continue
    for (const one of clicks.slice(Math.max(first, told), last + 1)) yield one
    told = last + 1
  }
}

function grouped(hits: readonly SourcedHit[], keyOf: (hit: SourcedHit) => string | null): SourcedHit[][] {
  const groups = new Map<string, SourcedHit[]>()
  for (const hit of hits) {
    const key = keyOf(hit)
    if (key === null || key === '') continue
    const group = groups.get(key)
    if (group) group.push(hit)
    else groups.set(key, [hit])
  }
  return [...groups.values()]
}
