import { type Domain, type KeyState, type RecordReason, type RecordStatus, requiredKindsOf } from './domain.ts'
import { type DnsRecord, hostIn, keyRecordsToKeep, type RecordHosts, recordsFor, zoneOf } from './domain-records.ts'

/** A record that the domain's owner must publish, or must keep, with what the last check found. */
export interface StatedRecord extends Omit<DnsRecord, 'kind'> {
  /** The name without the zone. */
  host: string
  /** Whether mail cannot be sent without it. */
  isRequired: boolean
  status: RecordStatus
  /** Why it is not as wanted; null if it is, or was not looked for yet. */
  reason: RecordReason | null
  /** What the DNS has instead. */
  found: string | null
  /** Epoch, ms. */
  checkedAt: number | null
  /** Of a DKIM record: what its key does. */
  key: KeyState | null
  /** Only for a key that no longer signs: until when its record must stay (epoch, ms). */
  keepUntil: number | null
}

/** All records of a domain, those of retired keys last. */
export function recordStates(domain: Domain, hosts: RecordHosts): StatedRecord[] {
  const zone = zoneOf(domain.name)
  const required = requiredKindsOf(domain)
  const wanted = recordsFor(domain, hosts).map(({ kind, ...record }): StatedRecord => {
    const { status = 'not_started', reason = null, found = null, checkedAt = null } = domain.records[kind] ?? {}
    const key = record.record !== 'DKIM' ? null : kind.startsWith('next-') ? 'next' : 'active'
    const host = hostIn(zone, record.name)
    return { ...record, host, isRequired: required.includes(kind), status, reason, found, checkedAt, key, keepUntil: null }
  })
  const kept = keyRecordsToKeep(domain).map((record): StatedRecord => {
    const host = hostIn(zone, record.name)
    return { ...record, host, isRequired: false, status: 'verified', reason: null, found: null, checkedAt: null, key: 'retired' }
  })
  return [...wanted, ...kept]
}
