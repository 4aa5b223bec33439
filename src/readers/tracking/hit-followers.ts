import { evidence, type Evidence } from './evidence.ts'
import type { SourcedHit } from './hit-source.ts'
import { readerRules } from './reader-rules.ts'

/** Moments by source, ms since delivery, each list in order of time. */
class Moments {
  readonly #bySource = new Map<string, number[]>()

  add(source: string, at: number): void {
    const moments = this.#bySource.get(source)
    if (moments) moments.push(at)
    else this.#bySource.set(source, [at])
  }

  /** Whether the source has a moment at most `ms` before or after. */
  isNear(source: string, at: number, ms: number): boolean {
    const moments = this.#bySource.get(source)
    if (!moments) return false
    let [low, high] = [0, moments.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((moments[middle] ?? 0) < at - ms) low = middle + 1
      else high = middle
    }
    return (moments[low] ?? Infinity) <= at + ms
  }
}

/**
 * What a machine that has given itself away also did: around the hidden link, a sweep or a HEAD. Close to the hidden link, the same address
 * is enough, and so is the same agent unless only the follower is complete as a browser. Otherwise both must match; in a fleet that sweeps
 * from many addresses, an incomplete agent is enough.
 * @param hits in order of time
 */
export function findFollowers(hits: readonly SourcedHit[], bursts: ReadonlySet<SourcedHit>): Map<SourcedHit, Evidence[]> {
  const windows = readerRules().windows_ms
  const [traps, sweeps, heads] = [new Moments(), new Moments(), new Moments()]
  for (const sourced of hits) {
    if (sourced.isPrefetch || sourced.kind === 'image_proxy') continue
    const source = sourceOf(sourced)
    if (sourced.hit.what === 'honeypot') for (const name of [source, ...namesOf(sourced)]) if (name) traps.add(name, sourced.at)
    if (bursts.has(sourced)) for (const name of [source, agentName(sourced)]) if (name) sweeps.add(name, sourced.at)
    if (sourced.hit.method.toUpperCase() !== 'GET' && source) heads.add(source, sourced.at)
  }
  const found = new Map<SourcedHit, Evidence[]>()
  for (const sourced of hits) {
    if (sourced.kind === 'image_proxy' || sourced.isPrefetch) continue
    const { at } = sourced
    const source = sourceOf(sourced)
    const signs: Evidence[] = []
    const isNearTrap = namesAsked(sourced).some((name) => traps.isNear(name, at, windows.honeypot))
    if (isNearTrap || (source && traps.isNear(source, at, windows.honeypot_same_source)))
      signs.push(evidence('honeypot', 'honeypot_follower'))
    const isOfFleet = !sourced.isComplete && sourced.kind === 'browser' && sweeps.isNear(agentName(sourced), at, windows.burst_follower)
    if (isOfFleet || (source && sweeps.isNear(source, at, windows.burst_follower))) signs.push(evidence('burst', 'burst_follower'))
    if (source && heads.isNear(source, at, windows.head_follower)) signs.push(evidence('head', 'head_follower'))
    found.set(sourced, signs)
  }
  return found
}

/** Network and agent as one name; null without an address. */
const sourceOf = ({ network, agent }: SourcedHit): string | null => (network === null ? null : `both ${network} ${agent}`)

const addressName = ({ hit }: SourcedHit): string[] => (hit.ip === null ? [] : [`address ${hit.ip}`])
const completeName = ({ agent }: SourcedHit): string => `complete ${agent}`
const agentName = ({ agent }: SourcedHit): string => `agent ${agent}`

/** How to recognise whoever followed the hidden link. */
const namesOf = (trap: SourcedHit): string[] => [
  ...addressName(trap),
  ...(trap.agent === '' ? [] : [agentName(trap)]),
  ...(trap.agent !== '' && trap.isComplete ? [completeName(trap)] : []),
]

const namesAsked = (hit: SourcedHit): string[] => [...addressName(hit), hit.isComplete ? completeName(hit) : agentName(hit)]
