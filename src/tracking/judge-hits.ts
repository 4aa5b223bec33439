import { verdictOf } from './evidence.ts'
import type { Evidence } from './evidence.ts'
import type { HitMessage, Verdict } from './hit.ts'
import { findBursts } from './hit-bursts.ts'
import { findEchoes } from './hit-echoes.ts'
import { findFollowers } from './hit-followers.ts'
import { sourcedHit } from './hit-source.ts'
import type { SourcedHit } from './hit-source.ts'
import { readerRules } from './reader-rules.ts'
import { signsOf } from './single-hit.ts'

/**
 * Which hits of a recipient's message are a machine's, in the order of the hits, as it stands when no more come. A verdict is
 * about a hit, not about the recipient: a scan at delivery says nothing about a click an hour later. The rules and their
 * sources are in config/reader-rules.json.
 * @param isOperatorsScanner tells the addresses that the operator knows as scanners', as `networkRule` does
 */
export function judgeHits(message: HitMessage, isOperatorsScanner: (address: string) => boolean = () => false): Verdict[] {
  const sourced = message.hits.map((hit) => sourcedHit(hit, message.scheme))
  const inTime = sourced.toSorted((one, other) => one.at - other.at)
  const signs = new Map<SourcedHit, Evidence[]>()
  const around = { scheme: message.scheme, links: message.links, openedAt: openedAt(inTime), isOperatorsScanner }
  for (const hit of inTime) signs.set(hit, signsOf(hit, around))

  const bursts = findBursts(inTime, message.links)
  const strongest = readerRules().weights.burst.weight
  const sweeps = new Set([...bursts].flatMap(([hit, { weight }]) => (weight >= strongest ? [hit] : [])))
  for (const [hit, sign] of bursts) signs.get(hit)?.push(sign)
  for (const [hit, found] of findFollowers(inTime, sweeps)) signs.get(hit)?.push(...found)
  const verdict = (hit: SourcedHit): Verdict => verdictOf(signs.get(hit) ?? [])
  for (const [hit, found] of findEchoes(inTime, (first) => verdict(first).bot)) signs.get(hit)?.push(...found)
  return sourced.map(verdict)
}

/** When the mail was first opened by what may be a person. */
function openedAt(hits: readonly SourcedHit[]): number | null {
  return hits.find(({ hit, kind }) => hit.what === 'open' && (kind === 'browser' || kind === 'mail_app' || kind === 'image_proxy'))?.at ?? null
}
