import { evidence, judgementOf, type Evidence } from './evidence.ts'
import { isClick, type HitMessage, type HitJudgement } from './hit.ts'
import { findBursts } from './hit-bursts.ts'
import { findEchoes } from './hit-echoes.ts'
import { findFollowers } from './hit-followers.ts'
import { sourcedHit, type SourcedHit } from './hit-source.ts'
import { readerRules } from './reader-rules.ts'
import { signsOf } from './single-hit.ts'

/**
 * Which hits on a recipient's message come from a machine, in the order of the hits, as of now. A verdict is about a hit, not about the
 * recipient: a scan at delivery says nothing about a click an hour later. The rules and their sources are in config/reader-rules.json.
 * @param isOperatorsScanner recognises the addresses that the operator listed as scanners', like `networkRule`
 */
export function judgeHits(message: HitMessage, isOperatorsScanner: (address: string) => boolean = () => false): HitJudgement[] {
  const sourced = message.hits.map((hit) => sourcedHit(hit, message.scheme))
  const inTime = sourced.toSorted((one, other) => one.at - other.at)
  const signs = new Map<SourcedHit, Evidence[]>()
  const add = (found: Iterable<readonly [SourcedHit, readonly Evidence[]]>): void => {
    for (const [hit, more] of found) signs.set(hit, [...(signs.get(hit) ?? []), ...more])
  }
  const verdict = (hit: SourcedHit): HitJudgement => judgementOf(signs.get(hit) ?? [])

  const around = { scheme: message.scheme, links: message.links, isOperatorsScanner }
  add(inTime.map((hit) => [hit, signsOf(hit, around)]))
  const openedAt = inTime.find((hit) => hit.hit.what === 'open' && !verdict(hit).bot)?.at ?? Infinity
  add(inTime.map((hit) => [hit, isClick(hit.hit) && hit.at < openedAt ? [evidence(null, 'no_open')] : []]))
  const bursts = findBursts(inTime, message.links)
  add(bursts)
  const sweeps = new Set(inTime.filter((hit) => bursts.get(hit)?.some(({ weight }) => weight >= readerRules().weights.burst.weight)))
  add(findFollowers(inTime, sweeps))
  add(findEchoes(inTime, (hit) => verdict(hit).bot))
  return sourced.map(verdict)
}
