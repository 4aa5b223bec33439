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
export function findBursts(hits: readonly SourcedHit[], links: number): Map<SourcedHit, Evidence> {
  const found = new Map<SourcedHit, Evidence>()
  const clicks = hits.filter(({ hit, isPrefetch }) => isClick(hit) && !isPrefetch)
  const together = [...grouped(clicks, ({ agent }) => agent), ...grouped(clicks, ({ network }) => network)]
  for (const group of together) markBursts(group, links, found)
  markBursts(clicks.filter((click) => !found.has(click)), links, found)
  for (const group of grouped(clicks, ({ agent, network }) => `${agent} ${network}`)) markWalks(group, links, found)
  return found
}

function markBursts(clicks: readonly SourcedHit[], links: number, found: Map<SourcedHit, Evidence>): void {
  const { some, all, pair_within_ms: pairWithin } = readerRules().bursts
  const burst = evidence('burst', 'burst')
  const windows = some.map((rule) => ({ links: rule.links, within: rule.within_ms }))
  for (const rule of all) if (links >= rule.at_least) windows.push({ links, within: rule.ms_a_link * (links - 1) })
  for (const window of windows) for (const click of within(clicks, window)) found.set(click, burst)
  for (const click of within(clicks, { links: 2, within: pairWithin })) if (!found.has(click)) found.set(click, evidence('burst', 'pair'))
}

/** One who goes through all links, at whatever pace. */
function markWalks(clicks: readonly SourcedHit[], links: number, found: Map<SourcedHit, Evidence>): void {
  const { at_least: atLeast, within_ms: withinMs } = readerRules().bursts.walk
  if (links < atLeast) return
  for (const click of within(clicks, { links, within: withinMs })) if (!found.has(click)) found.set(click, evidence('burst', 'walk'))
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
