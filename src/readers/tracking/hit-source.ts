import { truncatedAddress } from '../../platform/ip-address.ts'
import { agentKind, agentOf, type AgentKind } from './agent-kind.ts'
import { isComplete } from './browser-headers.ts'
import { isClick, type Hit } from './hit.ts'
import { readerRules } from './reader-rules.ts'

/** A hit, and what is known about its sender. */
export interface SourcedHit {
  hit: Hit
  /** ms since delivery */
  at: number
  /** In lower case. */
  agent: string
  kind: AgentKind
  /** The /24, or for IPv6 the /48, of the address; null without an address. */
  network: string | null
  /** `windows`, `iphone` … */
  system: string
  /** Whether the header is complete for a browser. */
  isComplete: boolean
  /** Whether a browser prefetched it. */
  isPrefetch: boolean
}

export function sourcedHit(hit: Hit, scheme: 'http' | 'https'): SourcedHit {
  const agent = agentOf(hit.headers)
  return {
    hit,
    at: hit.afterDeliveryMs,
    agent,
    kind: agentKind(agent, !isClick(hit) && hit.what !== 'honeypot'),
    network: hit.ip === null ? null : truncatedAddress(hit.ip),
    system: systems.find((name) => agent.includes(name)) ?? 'other',
    isComplete: isComplete({ agent, headers: hit.headers, scheme }),
    isPrefetch: readerRules().prefetch_headers.some(({ name, says }) => (hit.headers[name] ?? '').toLowerCase().includes(says)),
  }
}

/** In this order: Android also says Linux, and an iPhone Mac OS X. */
const systems = ['android', 'iphone', 'ipad', 'windows', 'mac os x', '; cros ', 'linux']
