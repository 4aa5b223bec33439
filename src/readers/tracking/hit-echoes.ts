import { evidence, type Evidence } from './evidence.ts'
import { isClick } from './hit.ts'
import type { SourcedHit } from './hit-source.ts'
import { variousWithin } from './hit-window.ts'
import { readerRules } from './reader-rules.ts'

/** How many earlier clicks on a link are compared: more within a minute cannot be a person's. */
const lookedBack = 20

/**
 * Clicks that others repeat: a check of the link that a person has just followed (`shadow`), and clicks from many places at once
 * (`repeated`). People have second devices and share mailboxes, so a complete browser is less suspect.
 * @param hits in order of time
 * @param isMachine whether a hit is already known as a machine's: a person who comes after it is no echo
 */
export function findEchoes(hits: readonly SourcedHit[], isMachine: (hit: SourcedHit) => boolean): Map<SourcedHit, Evidence[]> {
  const followed = hits.filter(({ hit, isPrefetch }) => isClick(hit) && !isPrefetch)
  const byLink = Map.groupBy(followed, ({ hit }) => hit.what)
  const found = new Map<SourcedHit, Evidence[]>()
  const add = (hit: SourcedHit, sign: Evidence): void => void found.set(hit, [...(found.get(hit) ?? []), sign])
  for (const clicks of byLink.values()) {
    for (const hit of shadows(clicks, isMachine)) add(hit, evidence('shadow', hit.isComplete ? 'as_a_browser' : 'shadow'))
    for (const hit of repeated(clicks)) add(hit, evidence('repeated', 'repeated'))
  }
  return found
}

function* shadows(clicks: readonly SourcedHit[], isMachine: (hit: SourcedHit) => boolean): Generator<SourcedHit> {
  const windows = readerRules().windows_ms
  for (const [place, later] of clicks.entries()) {
    // Nobody changes devices so fast.
    const within = later.isComplete ? windows.shadow_as_a_browser : windows.shadow
    const isShadow = clicks
      .slice(Math.max(0, place - lookedBack), place)
      .some(
        (first) =>
          later.at - first.at <= within &&
          first.system !== later.system &&
          first.network !== later.network &&
          (first.isComplete || !later.isComplete) &&
          !isMachine(first),
      )
    if (isShadow) yield later
  }
}

function* repeated(clicks: readonly SourcedHit[]): Generator<SourcedHit> {
  const { windows_ms: windows, repeated: least } = readerRules()
  const everywhere = [
    { of: ({ network }: SourcedHit) => network ?? '', atLeast: least.networks },
    { of: ({ agent }: SourcedHit) => agent, atLeast: least.agents },
  ]
  const hasSession = ({ hit }: SourcedHit): boolean => 'cookie' in hit.headers
  for (const click of variousWithin(clicks, windows.repeated_as_a_browser, everywhere)) if (!hasSession(click)) yield click
  for (const click of variousWithin(clicks, windows.repeated, everywhere)) if (!hasSession(click) && !click.isComplete) yield click
}
