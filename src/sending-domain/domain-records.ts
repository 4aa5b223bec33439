import type { Domain, RecordKind, RecordStatus } from './domain.ts'
import type { DkimAlgorithm } from './domain-keys.ts'

export interface ReturnPathSettings {
  /** Our name: what the MX of a return path points to, and what its SPF record allows. */
  hostname: string
  /** Where bounces go while a domain's own return path is not there. */
  returnPathDomain: string
}

/** A DNS record for the domain's owner to publish. */
export interface DnsRecord {
  kind: RecordKind
  /** What it is for, in the words of the API; both records of the return path are `SPF`. */
  record: 'DKIM' | 'SPF' | 'DMARC'
  /** Whole, without the final dot. */
  name: string
  type: 'TXT' | 'MX'
  /** The text, or the host alone without the final dot. */
  value: string
  /** Preference of an MX record. */
  priority?: number
}

/** The selector of a new key. It carries the random end of the domain's id: several accounts may have one domain. */
export const selectorFor = (domainId: string, algorithm: DkimAlgorithm): string =>
  `s${domainId.slice(-10)}${algorithm === 'rsa-sha256' ? 'r' : 'e'}`

/** Where the reverse-paths of the domain are once its records are found. */
export const returnPathOf = ({ returnPathLabel, name }: Domain): string => `${returnPathLabel}.${name}`

/** What must be published (DKIM, MX and SPF of the return path) and what should be (Ed25519, DMARC). */
export function recordsFor(domain: Domain, { hostname }: Pick<ReturnPathSettings, 'hostname'>): DnsRecord[] {
  const returnPath = returnPathOf(domain)
  return [
    ...domain.keys.map((key): DnsRecord => {
      const isRsa = key.algorithm === 'rsa-sha256'
      return {
        kind: isRsa ? 'dkim-rsa' : 'dkim-ed25519',
        record: 'DKIM',
        name: `${key.selector}._domainkey.${domain.name}`,
        type: 'TXT',
        value: `v=DKIM1; k=${isRsa ? 'rsa' : 'ed25519'}; p=${key.publicKey}`,
      }
    }),
    { kind: 'return-path-mx', record: 'SPF', name: returnPath, type: 'MX', value: hostname, priority: 10 },
    { kind: 'return-path-spf', record: 'SPF', name: returnPath, type: 'TXT', value: `v=spf1 a:${hostname} ~all` },
    { kind: 'dmarc', record: 'DMARC', name: `_dmarc.${domain.name}`, type: 'TXT', value: 'v=DMARC1; p=none' },
  ]
}

/** The domain as the API and the command line show it. */
export interface DomainObject {
  object: 'domain'
  id: string
  name: string
  status: Domain['status']
  created_at: string
  region: 'self-hosted'
  capabilities: { sending: 'enabled'; receiving: 'disabled' }
  open_tracking: boolean
  click_tracking: boolean
  tracking_subdomain: string | null
  tls: Domain['tls']
  records: (Omit<DnsRecord, 'kind'> & { ttl: 'Auto'; status: RecordStatus })[]
}

export function domainObject(domain: Domain, settings: Pick<ReturnPathSettings, 'hostname'>): DomainObject {
  return {
    object: 'domain',
    id: domain.id,
    name: domain.name,
    status: domain.status,
    created_at: new Date(domain.createdAt).toISOString(),
    region: 'self-hosted',
    capabilities: { sending: 'enabled', receiving: 'disabled' },
    open_tracking: false,
    click_tracking: false,
    tracking_subdomain: null,
    tls: domain.tls,
    records: recordsFor(domain, settings).map(({ kind, ...record }) => ({
      ...record,
      ttl: 'Auto',
      status: domain.records[kind]?.status ?? 'not_started',
    })),
  }
}
