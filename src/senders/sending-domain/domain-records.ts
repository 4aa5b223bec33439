import { type Domain, type DomainKey, isSystemDomain, type RecordKind } from './domain.ts'
import { recordKindOf } from './key-rotation.ts'
import { firstDmarcRecord } from './report-addresses.ts'
import { organizationalDomain } from './sending-domain-name.ts'

/** Our names, for the records of domains. */
export interface RecordHosts {
  /** The target of a return path's MX, which its SPF record allows. */
  hostname: string
  /** The target of a tracking subdomain's CNAME. */
  trackingHost: string
  /** Whether return paths accept reports on domains. */
  takesReports: boolean
}

/** What a record is for, in the API's words; both records of the return path are `SPF`. */
export const recordPurposes = ['DKIM', 'SPF', 'DMARC', 'Tracking'] as const

/** A DNS record for the domain's owner to publish. */
export interface DnsRecord {
  kind: RecordKind
  record: (typeof recordPurposes)[number]
  /** The full name, without the final dot. */
  name: string
  type: 'TXT' | 'MX' | 'CNAME'
  /** The text, or only the host without the final dot. */
  value: string
  /** Preference of an MX record. */
  priority?: number
}

/** Where the domain's reverse-paths are once its records are found. */
export const returnPathOf = ({ returnPathLabel, name }: Domain): string => (returnPathLabel === '' ? name : `${returnPathLabel}.${name}`)

/** The zone that the records are most likely in: the registered domain. */
export const zoneOf = (name: string): string => organizationalDomain(name)

/** A name as DNS providers ask for it, without the zone; `@` for the zone itself. */
export const hostIn = (zone: string, name: string): string => (name === zone ? '@' : name.slice(0, -zone.length - 1))

/**
 * What must be published (DKIM, MX and SPF of the return path) and what should be (Ed25519, DMARC, the CNAME of the tracking subdomain).
 * Without the records of retired keys: see `keyRecordsToKeep`. The server's own domain sends with the null reverse-path, so its SPF is for
 * the EHLO name.
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

/** The records of keys that no longer sign, each with the time (epoch, ms) until which it must stay. */
export const keyRecordsToKeep = (domain: Domain): (Omit<DnsRecord, 'kind'> & { keepUntil: number | null })[] =>
  domain.keys.filter(({ state }) => state === 'retired').map((key) => ({ ...keyRecord(domain, key), keepUntil: key.keepUntil }))

/** RFC 6376 3.6.1, RFC 8463 4. */
const keyRecord = ({ name }: Domain, { selector, algorithm, publicKey }: DomainKey): Omit<DnsRecord, 'kind'> => ({
  record: 'DKIM',
  name: `${selector}._domainkey.${name}`,
  type: 'TXT',
  value: `v=DKIM1; k=${algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519'}; p=${publicKey}`,
})
