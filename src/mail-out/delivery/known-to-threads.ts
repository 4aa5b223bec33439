import type { LRUCache } from 'lru-cache'
import { lastUsed } from '../../platform/last-used.ts'
import { heldPolicies, type KnownSts } from '../mta-sts/known-sts.ts'
import type { KnownToken } from '../oauth/known-token.ts'
import type { ListenAddress } from './address-guard.ts'
import { maxClassicalHosts, type ClassicalHost } from './classical-hosts.ts'
import { maxStops, type ProviderStop } from './provider-stops.ts'
import type { Smarthost } from './smarthost.ts'

/** The first messages to a thread that replaces a crashed one. */
export interface Known {
  keys: Map<string, Uint8Array>
  listeners: ListenAddress[] | null
  classicalHosts: LRUCache<string, ClassicalHost>
  providerStops: LRUCache<string, ProviderStop>
  stsPolicies: LRUCache<string, KnownSts>
  /** True if some had no room there. */
  isStsPartial: boolean
  smarthostToken: KnownToken | null
  smarthosts: Smarthost[]
}

export function nothingKnown(): Known {
  const known: Known = {
    keys: new Map(),
    listeners: null,
    classicalHosts: lastUsed(maxClassicalHosts),
    providerStops: lastUsed(maxStops),
    stsPolicies: heldPolicies(() => (known.isStsPartial = true)),
    isStsPartial: false,
    smarthostToken: null,
    smarthosts: [],
  }
  return known
}
