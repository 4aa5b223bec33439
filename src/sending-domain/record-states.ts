import type { Domain, RecordStatus } from './domain.ts'
import { type DnsRecord, keyRecordsToKeep, type RecordHosts, recordsFor } from './domain-records.ts'

/** A record that the domain's owner must publish, or must keep, with what the last check found. */
export interface StatedRecord extends Omit<DnsRecord, 'kind'> {
  status: RecordStatus
  /** What the DNS has instead. */
  found: string | null
  /** Epoch, ms. */
  checkedAt: number | null
  /** Only for a key that no longer signs: until when its record must stay (epoch, ms). */
  keepUntil: number | null
}

/** All records of a domain, those of retired keys last. */
export function recordStates(domain: Domain, hosts: RecordHosts): StatedRecord[] {
  const wanted = recordsFor(domain, hosts).map(({ kind, ...record }): StatedRecord => {
    const { status = 'not_started', found = null, checkedAt = null } = domain.records[kind] ?? {}
    return { ...record, status, found, checkedAt, keepUntil: null }
  })
  const kept = keyRecordsToKeep(domain).map((record): StatedRecord => ({ ...record, status: 'verified', found: null, checkedAt: null }))
  return [...wanted, ...kept]
}
