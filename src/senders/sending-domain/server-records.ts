import { isIP } from 'node:net'
import { reverseName } from '../../platform/ip-address.ts'
import { isFullName } from '../../platform/smtp/domain-name.ts'
import type { ZoneRecord } from './zone-file.ts'

/** The names of the server. */
interface ServerNames {
  hostname: string
  /** Where bounces come back to that have no address at a sending domain. */
  returnPathDomain: string
  /** Whether the server accepts what comes back. */
  takesReports: boolean
}

export const serverRecordTypes = ['A', 'AAAA', 'MX', 'PTR'] as const

/** A record that the server itself needs. A PTR is for whoever the address belongs to, most often the provider. */
export interface ServerRecord extends ZoneRecord {
  type: (typeof serverRecordTypes)[number]
}

/**
 * What must be published for the server: its address, the MX of its return path, and the names of its addresses. None while it has no name.
 * @param addresses the public ones that mail leaves from
 */
export function serverRecords({ hostname, returnPathDomain, takesReports }: ServerNames, addresses: readonly string[]): ServerRecord[] {
  if (!isFullName(hostname)) return []
  return [
    ...addresses.map((address): ServerRecord => ({ name: hostname, type: isIP(address) === 6 ? 'AAAA' : 'A', value: address })),
    ...(takesReports ? [{ name: returnPathDomain, type: 'MX', value: hostname, priority: 10 } as const] : []),
    ...addresses.map((address): ServerRecord => ({ name: reverseName(address), type: 'PTR', value: hostname })),
  ]
}

/** All records that belong into the zone of a domain: its own, and those of the server whose names are at or below it. */
export function zoneRecords(domain: { name: string; records: readonly ZoneRecord[] }, ofServer: readonly ServerRecord[]): ZoneRecord[] {
  const isOwn = ({ name, value }: ServerRecord): boolean => domain.records.some((own) => own.name === name && own.value === value)
  return [...domain.records, ...ofServer.filter((record) => isWithin(record, domain.name) && !isOwn(record))]
}

/** Whether a record belongs into the zone of this domain. */
export const isWithin = ({ name }: ZoneRecord, domain: string): boolean => name === domain || name.endsWith(`.${domain}`)
