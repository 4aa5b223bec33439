import { fabricatedPage, fabricatedPicture } from './browser-headers.ts'
import { evidence, type Evidence } from './evidence.ts'
import type { SourcedHit } from './hit-source.ts'
import { readerRules } from './reader-rules.ts'

/** Context of the hit. */
interface HitCircumstances {
  scheme: 'http' | 'https'
  /** Links of the message. */
  links: number
  /** Recognises the addresses that the operator listed as scanners'. */
  isOperatorsScanner(address: string): boolean
}

/** The signs that a hit shows by itself. */
export function signsOf(sourced: SourcedHit, around: HitCircumstances): Evidence[] {
  const { hit, kind } = sourced
  const found: Evidence[] = []
  if (hit.what === 'honeypot') found.push(evidence('honeypot', 'honeypot'))
  if (hit.method.toUpperCase() !== 'GET') found.push(evidence('head', 'head'))
  if (sourced.isPrefetch) found.push(evidence('prefetch', 'prefetch'))
  // Address, time and header are a proxy's, and say nothing about the reader.
  if (kind === 'image_proxy') return found
  found.push(...agentSigns(sourced, around), ...networkSigns(sourced, around), ...momentSigns(sourced, around))
  return found
}

function agentSigns({ hit, agent, kind }: SourcedHit, { scheme }: HitCircumstances): Evidence[] {
  if (kind === 'none') return [evidence('no_agent', 'no_agent')]
  if (kind === 'apple_mpp' || kind === 'gmail_prefetch') return [evidence(kind, kind)]
  const hints = (hit.headers['sec-ch-ua'] ?? '').slice(0, 1000).toLowerCase()
  if (kind === 'robot' || hints.includes('headless')) return [evidence('declared', 'declared')]
  const weight =
    kind === 'mail_app' ? null : (hit.what === 'open' ? fabricatedPicture : fabricatedPage)({ agent, headers: hit.headers, scheme })
  return weight ? [evidence('fabricated', weight)] : []
}

function networkSigns({ hit: { ip }, at }: SourcedHit, { isOperatorsScanner }: HitCircumstances): Evidence[] {
  const { isIn, windows_ms: windows } = readerRules()
  if (ip === null) return []
  if (isOperatorsScanner(ip) || isIn.mail_filters(ip)) return [evidence('scanner_network', 'scanner_network')]
  if (isIn.filters_with_people(ip)) return [evidence('scanner_network', at < windows.filter_early ? 'filter_early' : 'filter_late')]
  return isIn.datacentres(ip) ? [evidence(null, 'datacentre')] : []
}

function momentSigns({ at, isComplete }: SourcedHit, { links }: HitCircumstances): Evidence[] {
  const { windows_ms: windows, short_mail_links: short } = readerRules()
  if (at < -windows.before_delivery_at_least) {
    // An earlier hit is on a copy of the mail whose acceptance was never acknowledged.
    return at > -windows.before_delivery ? [evidence('instant', 'before_delivery')] : []
  }
  if (at >= windows.instant) return []
  return [evidence('instant', links <= short && isComplete ? 'instant_short' : 'instant')]
}
