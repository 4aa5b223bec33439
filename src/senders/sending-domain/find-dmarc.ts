import type { Resolver } from '../../platform/resolver.ts'
import { readDmarc, type DmarcFault, type DmarcRecord } from './dmarc-record.ts'
import { tagsOf } from './record-text.ts'

/** The DMARC record that receivers go by, or why there is none, and the domain that it is at. */
interface FoundDmarc {
  at: string
  reading: DmarcRecord | DmarcFault
}

const maxQueries = 8

/**
 * Walks from a domain up the tree (RFC 9989 4.10): its own record counts, or that of the organizational domain, or that of the public
 * suffix. Null if the DNS gave no answer.
 */
export async function findDmarc(domain: string, resolver: Pick<Resolver, 'txt'>): Promise<FoundDmarc | null> {
  let nearest: FoundDmarc = { at: domain, reading: { fault: 'missing' } }
  for (const at of namesFrom(domain)) {
    const { status, records } = await resolver.txt(`_dmarc.${at}`)
    if (status === 'servfail') return null
    const reading = readDmarc(records)
    // What is wrong at the domain itself is what its owner can mend.
    if (at === domain && !('fault' in reading && reading.fault === 'missing')) return { at, reading }
    if ('fault' in reading) continue
    const psd = tagsOf(reading.text).get('psd')?.toLowerCase()
    // Of a public suffix, the name right below is the organizational domain.
    if (psd === 'y' && !('fault' in nearest.reading) && parentOf(nearest.at) === at) return nearest
    nearest = { at, reading }
    if (psd === 'y' || psd === 'n') return nearest
  }
  return nearest
}

const parentOf = (name: string): string => name.slice(name.indexOf('.') + 1)

/** The domain, then its parents; of a long name only the last seven labels (RFC 9989 4.10). */
function namesFrom(domain: string): string[] {
  const labels = domain.split('.')
  const parents = labels.slice(1).map((_, i) => labels.slice(i + 1).join('.'))
  return [domain, ...parents.slice(-(maxQueries - 1))]
}
