import type { Resolver } from '../../platform/resolver.ts'
import { milder, readDmarc, type DmarcFault, type DmarcPolicy, type DmarcRecord } from './dmarc-record.ts'

/** The DMARC record that receivers go by, or why there is none, and the domain that it is at. */
export interface FoundDmarc {
  at: string
  reading: DmarcRecord | DmarcFault
}

const maxQueries = 8

const isMissing = ({ reading }: FoundDmarc): boolean => 'fault' in reading && reading.fault === 'missing'

/**
 * Finds the policy for a domain (RFC 9989 4.10.1): its own record counts, or that of the organizational domain, or that of the public
 * suffix. Null if the DNS gave no answer.
 */
export async function findDmarc(domain: string, resolver: Pick<Resolver, 'txt'>): Promise<FoundDmarc | null> {
  // What is wrong at the domain itself is what its owner can mend.
  const walked = await walk(domain, resolver, (found) => found.at === domain && !isMissing(found))
  if (walked === null) return null
  const [own] = walked
  if (own && !isMissing(own)) return own
  const found = recordsIn(walked)
  const organizational = organizationalIn(domain, found)
  return found.find(({ at }) => at === organizational) ?? found.at(-1) ?? { at: domain, reading: { fault: 'missing' } }
}

/**
 * What receivers do with mail from the domain that fails, by a record that they have found for it.
 * @param exists whether the DNS has its name
 */
export function appliedPolicy(domain: string, at: string, record: DmarcRecord, exists = true): DmarcPolicy {
  const published = at === domain ? record.policy : record.below[exists ? 'existing' : 'absent']
  return record.isOnTrial ? milder(published) : published
}

/**
 * The domain by which relaxed alignment compares names: two with the same one are aligned (RFC 9989 4.10.2). Null if the DNS gave no answer.
 */
export async function findOrganizationalDomain(domain: string, resolver: Pick<Resolver, 'txt'>): Promise<string | null> {
  const walked = await walk(domain, resolver, () => false)
  return walked && organizationalIn(domain, recordsIn(walked))
}

interface FoundRecord extends FoundDmarc {
  reading: DmarcRecord
}

const recordsIn = (walked: FoundDmarc[]): FoundRecord[] => walked.filter((found): found is FoundRecord => !('fault' in found.reading))

/** @param found from the domain upwards */
function organizationalIn(domain: string, found: FoundRecord[]): string {
  const last = found.at(-1)
  if (!last) return domain
  return last.reading.psd === 'y' && last.at !== domain ? childOf(last.at, domain) : last.at
}

/** The name right below `parent` on the way to `domain`. */
const childOf = (parent: string, domain: string): string =>
  domain
    .split('.')
    .slice(-parent.split('.').length - 1)
    .join('.')

/**
 * What is at the domain and the names above it (RFC 9989 4.10), up to a record that says whether its domain is a public suffix. Null if
 * the DNS gave no answer.
 */
async function walk(
  domain: string,
  resolver: Pick<Resolver, 'txt'>,
  isEnough: (found: FoundDmarc) => boolean,
): Promise<FoundDmarc[] | null> {
  const walked: FoundDmarc[] = []
  for (const at of namesFrom(domain)) {
    const { status, records } = await resolver.txt(`_dmarc.${at}`)
    if (status === 'servfail') return null
    const found = { at, reading: readDmarc(records) }
    walked.push(found)
    if (isEnough(found) || endsWalk(found, domain)) break
  }
  return walked
}

const endsWalk = ({ at, reading }: FoundDmarc, domain: string): boolean =>
  !('fault' in reading) && (reading.psd === 'n' || (reading.psd === 'y' && at !== domain))

/** The domain, then its parents; of a long name only the last seven labels. */
function namesFrom(domain: string): string[] {
  const labels = domain.split('.')
  const parents = labels.slice(1).map((_, i) => labels.slice(i + 1).join('.'))
  return [domain, ...parents.slice(-(maxQueries - 1))]
}
