import type { DomainRecord } from './api/types.ts'

/** The records of the keys that sign: those that were found, or all that are in use where none had to be, as of a domain verified by hand. */
export function signingRecords(records: readonly DomainRecord[]): DomainRecord[] {
  const active = records.filter(({ key }) => key === 'active')
  const found = active.filter(({ status }) => status === 'verified')
  return found.length > 0 ? found : active
}
