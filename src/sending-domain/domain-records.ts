import { type Domain, type DomainKey, isSystemDomain, type RecordKind } from './domain.ts'
import { recordKindOf } from './key-rotation.ts'
import { firstDmarcRecord } from './report-addresses.ts'

/** Our names, as the records of domains give them. */
export interface RecordHosts {
  /** What the MX of a return path points to, and what its SPF record allows. */
  hostname: string
  /** What a tracking sub-domain is an alias of. */
  trackingHost: string
  /** Whether reports about domains are taken at their return paths. */
  takesReports: boolean
}

/** A DNS record for the domain's owner to publish. */
export interface DnsRecord {
  kind: RecordKind
  /** What it is for, in the words of the API; both records of the return path are `SPF`. */
  record: 'DKIM' | 'SPF' | 'DMARC' | 'Tracking'
  /** Whole, without the final dot. */
  name: string
  type: 'TXT' | 'MX' | 'CNAME'
  /** The text, or the host alone without the final dot. */
  value: string
  /** Preference of an MX record. */
  priority?: number
}

/** Where the reverse-paths of the domain are once its records are found. */
export const returnPathOf = ({ returnPathLabel, name }: Domain): string => (returnPathLabel === '' ? name : `${returnPathLabel}.${name}`)

/**
 * What must be published (DKIM, MX and SPF of the return path) and what should be (Ed25519, DMARC, the alias of the
 * tracking sub-domain). The records of retired keys are left out: see `keyRecordsToKeep`. Of the server's own domain, whose
 * mail has the null reverse-path, SPF counts for the name in EHLO.
 */
export function recordsFor(domain: Domain, { hostname, trackingHost, takesReports }: RecordHosts): DnsRecord[] {
  const { name, trackingSubdomain } = domain
  const returnPath = returnPathOf(domain)
  return [
    ...domain.keys.flatMap((key) => {
      const kind = recordKindOf(key)
      return kind === null ? [] : [{ kind, ...keyRecord(domain, key) }]
    }),
    ...(isSystemDomain(domain)
      ? []
      : [{ kind: 'return-path-mx', record: 'SPF', name: returnPath, type: 'MX', value: hostname, priority: 10 } as const]),
    { kind: 'return-path-spf', record: 'SPF', name: returnPath, type: 'TXT', value: `v=spf1 a:${hostname} ~all` },
    { kind: 'dmarc', record: 'DMARC', name: `_dmarc.${name}`, type: 'TXT', value: firstDmarcRecord(takesReports ? returnPath : null) },
    ...(trackingSubdomain === null
      ? []
      : [{ kind: 'tracking', record: 'Tracking', name: `${trackingSubdomain}.${name}`, type: 'CNAME', value: trackingHost } as const]),
  ]
}

/** The records of keys that sign no more, each with the time (epoch, ms) until which it must stay. */
export const keyRecordsToKeep = (domain: Domain): (Omit<DnsRecord, 'kind'> & { keepUntil: number | null })[] =>
  domain.keys.filter(({ state }) => state === 'retired').map((key) => ({ ...keyRecord(domain, key), keepUntil: key.keepUntil }))

/** RFC 6376 3.6.1, RFC 8463 4. */
const keyRecord = ({ name }: Domain, { selector, algorithm, publicKey }: DomainKey): Omit<DnsRecord, 'kind'> => ({
  record: 'DKIM',
  name: `${selector}._domainkey.${name}`,
  type: 'TXT',
  value: `v=DKIM1; k=${algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519'}; p=${publicKey}`,
})
