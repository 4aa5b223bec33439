import { truncatedAddress } from '../ip-address.ts'
import { agentKind, agentOf, type AgentKind } from './agent-kind.ts'
import { isComplete } from './browser-headers.ts'
import { isClick, type Hit } from './hit.ts'
import { readerRules } from './reader-rules.ts'

/** A hit, and what is known of whoever sent it. */
export interface SourcedHit {
  hit: Hit
  /** ms since delivery */
  at: number
  /** In lower case. */
  agent: string
  kind: AgentKind
  /** The /24, or of IPv6 the /48, that the address lies in; null without an address. */
  network: string | null
  /** `windows`, `iphone` … */
  system: string
  /** Whether the header is complete as a browser's. */
  isComplete: boolean
  /** Whether a browser fetched it ahead of the person. */
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

/** In this order: Android says Linux too, and an iPhone Mac OS X. */
const systems = ['android', 'iphone', 'ipad', 'windows', 'mac os x', '; cros ', 'linux']
