import type { Resolver } from '../../platform/resolver.ts'
import { checkRecord, type Finding } from './check-records.ts'
import type { DnsRecord } from './domain-records.ts'

/**
 * Looks for missing records where a DNS provider puts them that appends the name of the zone to a name that has it already:
 * `send.example.com.example.com`.
 */
export function withDoubledNames(
  findings: Finding[],
  records: readonly DnsRecord[],
  { zone, resolver }: { zone: string; resolver: Resolver },
): Promise<Finding[]> {
  return Promise.all(
    findings.map(async (finding) => {
      const record = records.find(({ kind }) => kind === finding.kind)
      if (finding.reason !== 'missing' || !record) return finding
      const { isPresent } = await checkRecord({ ...record, name: `${record.name}.${zone}` }, resolver)
      return isPresent === true ? { ...finding, reason: 'doubled_name' } : finding
    }),
  )
}
