import { LRUCache } from 'lru-cache'
import type { FetchFault } from './fetch-sts-policy.ts'
import type { StsPolicy } from './sts-policy.ts'

/** What is kept of a domain whose DNS announces a policy, or did. Times are epoch ms. */
export interface KnownSts {
  domain: string
  /** Null: none could be fetched yet. */
  policy: StsPolicy | null
  /** The id that the DNS announced when the policy was fetched. */
  id: string | null
  fetchedAt: number | null
  /** When fetching it was last tried. */
  triedAt: number
  /** Why that failed; null: it did not. */
  fault: FetchFault | null
  /** When mail last went by it; a day may be missing. */
  usedAt: number
}

/** Between two fetches for one domain, at least. */
export const retryMs = 5 * 60_000

/** When what is known stops to hold, epoch ms. */
export const stsExpiry = ({ policy, fetchedAt }: KnownSts): number => (fetchedAt ?? 0) + (policy?.maxAgeMs ?? 0)

/** The policy that holds now; null: none. */
export const stsInForce = (known: KnownSts | undefined, now: number): StsPolicy | null =>
  known?.policy && known.policy.mode !== 'none' && now < stsExpiry(known) ? known.policy : null

/** True if what the DNS announces is not what is known, and fetching it was not just tried. */
export function needsFetch(known: KnownSts | undefined, id: string, now: number): boolean {
  if (!known) return true
  return (known.id !== id || now >= stsExpiry(known)) && mayTryAgain(known, now)
}

/** A job may be older than the fetch that it has waited for. */
export const mayTryAgain = ({ triedAt }: KnownSts, now: number): boolean => Math.abs(now - triedAt) >= retryMs

/** The name whose TXT records announce a domain's policy. */
export const stsRecordName = (domain: string): string => `_mta-sts.${domain}`

/** How much of it is held in memory, bytes: what was used last. */
export const maxHeldBytes = 16 * 1024 * 1024
/** What a domain takes there without the names of a policy, about. */
export const heldBytesEach = 300

/** The bytes that it takes, about. */
const sizeOfKnown = ({ policy }: KnownSts): number => heldBytesEach + (policy?.mx ?? []).reduce((size, name) => size + name.length + 20, 0)

/**
 * What is held in memory, by domain.
 * @param letGo called for each domain that there is no room for any more; from then on only the store knows all
 */
export const heldPolicies = (letGo: (domain: string) => void): LRUCache<string, KnownSts> =>
  new LRUCache({
    maxSize: maxHeldBytes,
    sizeCalculation: sizeOfKnown,
    dispose: (_, domain, why) => {
      if (why === 'evict') letGo(domain)
    },
  })
