import { isoTime, isoTimeOrNull } from '../iso-time.ts'
import type { Domain, DomainStatus, DomainTls, RecordStatus } from './domain.ts'
import { type DnsRecord, keyRecordsToKeep, type RecordHosts, recordsFor, returnPathOf } from './domain-records.ts'

/** The domain as the API and the command line show it. */
export interface DomainObject {
  object: 'domain'
  id: string
  name: string
  status: DomainStatus
  created_at: string
  checked_at: string | null
  region: 'self-hosted'
  capabilities: { sending: 'enabled'; receiving: 'disabled' }
  open_tracking: boolean
  click_tracking: boolean
  tracking_subdomain: string | null
  app_links: Record<string, AppLinks>
  tls: DomainTls
  subdomains: boolean
  /** The domain of the reverse-path once its records are found. */
  return_path: string
  records: RecordObject[]
}

type AppLinks = Record<string, unknown> | Record<string, unknown>[]

type RecordObject = Omit<DnsRecord, 'kind'> & {
  ttl: 'Auto'
  status: RecordStatus
  /** What the DNS has instead. */
  found: string | null
  checked_at: string | null
  /** Only for a key that no longer signs: until when its record must stay. */
  keep_until: string | null
}

export const domainObject = (domain: Domain, hosts: RecordHosts): DomainObject => ({
  object: 'domain',
  id: domain.id,
  name: domain.name,
  status: domain.status,
  created_at: isoTime(domain.createdAt),
  checked_at: isoTimeOrNull(domain.checkedAt),
  region: 'self-hosted',
  capabilities: { sending: 'enabled', receiving: 'disabled' },
  open_tracking: domain.tracking.opens,
  click_tracking: domain.tracking.clicks,
  tracking_subdomain: domain.trackingSubdomain,
  app_links: Object.fromEntries(Object.entries(domain.appLinks).map(([file, json]) => [file, JSON.parse(json) as AppLinks])),
  tls: domain.tls,
  subdomains: domain.subdomains,
  return_path: returnPathOf(domain),
  records: recordObjects(domain, hosts),
})

function recordObjects(domain: Domain, hosts: RecordHosts): RecordObject[] {
  const wanted = recordsFor(domain, hosts).map(({ kind, ...record }): RecordObject => {
    const state = domain.records[kind]
    return {
      ...record,
      ttl: 'Auto',
      status: state?.status ?? 'not_started',
      found: state?.found ?? null,
      checked_at: state ? isoTime(state.checkedAt) : null,
      keep_until: null,
    }
  })
  const kept = keyRecordsToKeep(domain).map(({ keepUntil, ...record }): RecordObject => ({
    ...record,
    ttl: 'Auto',
    status: 'verified',
    found: null,
    checked_at: null,
    keep_until: isoTimeOrNull(keepUntil),
  }))
  return [...wanted, ...kept]
}
